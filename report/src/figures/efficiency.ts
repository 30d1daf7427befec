// How far an engine is from the bare drive: its I/Os a second against what the drive gives
// as many in flight, what limits it, and how many I/Os an operation takes. Shown where a run
// measured the drive itself.

import type { Efficiency, Limit } from "../data";
import { paragraphs, trialsNote, type Drawing, type Figure } from "../drawing";
import { inUnit, NONE, si } from "../format";
import { barGaps, expectedEngines, whyMissing } from "../gaps";
import { costOf, rangeOf, threadsText, type Case } from "../model";
import type { View } from "../view";
import { barChart, type Bar, type BarPanel } from "./bars";
import { atThreads, threadsControl } from "./choices";

export const efficiency: Figure = { name: "efficiency", draw };

export const LIMITS: Record<Limit, string> = {
  cpu_user: "CPU user", cpu_system: "CPU sys", no_cpu: "CPU wait", flushes: "flushes", syncs: "syncs", reads: "reads",
  writes: "writes", drive_full: "drive full", device: "device", stalls: "stalls", lock: "lock", schedule: "schedule",
  server: "server", turns: "mixed",
};

/** `reads`; `CPU user, cached`: memory is what was measured; empty: not known. */
export function limitWord(standing: Efficiency): string {
  const words = [standing.limit ? LIMITS[standing.limit] : "", standing.cached ? "cached" : ""];
  return words.filter((word) => word !== "").join(", ");
}

function draw(view: View): Drawing | null {
  if (view.work.load || view.model.data.ceilings.length === 0) return null;
  const threads = threadsControl(view, "efficiency");
  const cases = atThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const list: BarPanel[] = [
    { title: "share of the raw-device ceiling", format: percent, bars: cases.flatMap((one) => shareBar(one)), ...shareGaps(view, cases) },
    { title: "share of peak IOPS", format: percent, bars: cases.flatMap((one) => bar(one, "drive_share_percent")), ...barGaps(view, cases, (one) => costOf(one, "drive_share_percent")) },
    { title: "I/Os per op", format: si, bars: cases.flatMap((one) => ios(one)), ...barGaps(view, cases, (one) => costOf(one, "device_reads_per_s")) },
  ].filter((panel) => panel.bars.length > 0);
  if (list.length === 0) return null;
  return {
    title: "How far from the drive",
    note: `Device IOPS over those of the bare drive, and what limits: neither way is better; ${trialsNote(view)}.`,
    how: paragraphs("The ceiling is the bare drive with as many requests in flight; the peak is the highest of this run. The share says how full the drive is.",
      "What limits took half or more of the threads' time; cached: memory was measured. I/Os per op: pale are writes.", alone(cases), why(cases)),
    controls: [threads],
    cases,
    whiskers: true,
    chart: (width, theme) => barChart(list, width, theme),
    table: () => ({
      head: ["engine", "limit", "ceiling", "threads", "ceiling, IOPS", "reads/s", "writes/s", "share", "range", "of peak", "I/Os/op", "CPU", "queue", "why no share"],
      words: 3,
      rows: view.cases.filter((one) => !one.engine.loadGenerator).map((one) => row(one)),
    }),
  };
}

const percent = (value: number): string => inUnit(value, "%");

/** Of a figure of the whole phase. */
function bar(one: Case, name: string): Bar[] {
  const metric = costOf(one, name);
  if (metric?.value == null) return [];
  return [{ engine: one.engine, parts: [{ name, value: metric.value }], range: rangeOf(metric), combine: metric.combine }];
}

function shareBar(one: Case): Bar[] {
  const standing = one.run?.efficiency;
  if (!standing) return [];
  return bar(one, "ceiling_share_percent").map((bar) => ({ ...bar, word: limitWord(standing) }));
}

function shareGaps(view: View, cases: Case[]): Pick<BarPanel, "engines" | "gaps"> {
  const engines = expectedEngines(view);
  return { engines, gaps: engines.flatMap((engine) => {
    const one = cases.find((each) => each.engine.id === engine.id);
    if (one && shareBar(one).length > 0) return [];
    const why = one?.run?.efficiency?.why_no_share ?? whyMissing(one, one ? costOf(one, "ceiling_share_percent") : null);
    return [{ engine, at: null, why }];
  }) };
}

/** In the window; the cost of an operation (figure 7) counts writes up to a sync. */
function ios(one: Case): Bar[] {
  const reads = costOf(one, "device_reads_per_s"), writes = costOf(one, "device_writes_per_s");
  const each = one.run?.efficiency?.ios_per_op;
  const all = (reads?.value ?? 0) + (writes?.value ?? 0);
  if (each == null || reads?.value == null) return [];
  const share = all > 0 ? reads.value / all : 1;
  const parts = [{ name: "reads", value: each * share }, { name: "writes", value: each * (1 - share) }];
  return [{ engine: one.engine, parts, range: null, combine: reads.combine }];
}

/** Whose writes no ceiling covers. */
function alone(cases: Case[]): string {
  const engines = cases.filter((one) => one.run?.efficiency?.reads_alone && one.run.efficiency.ceiling).map((one) => one.engine.name);
  return engines.length > 0 ? `${engines.join(", ")}: only reads are compared with it, because no ceiling here covers its writes. ` : "";
}

/** Why engines have no share, each reason once. */
function why(cases: Case[]): string {
  const reasons = new Map<string, string[]>();
  for (const one of cases) {
    const reason = one.run?.efficiency?.why_no_share;
    if (reason) reasons.set(reason, [...(reasons.get(reason) ?? []), one.engine.name]);
  }
  return [...reasons].map(([reason, engines]) => `No share of ${engines.join(", ")}: ${reason}. `).join("");
}

function row(one: Case): string[] {
  const standing = one.run?.efficiency;
  const said = (name: string) => { const metric = costOf(one, name); return metric?.value == null ? NONE : inUnit(metric.value, metric.unit); };
  const ceiling = standing?.ceiling;
  const range = rangeOf(costOf(one, "ceiling_share_percent"));
  const queue = costOf(one, "device_queue_depth_mean")?.value;
  return [
    one.engine.name, standing ? limitWord(standing) || NONE : NONE,
    ceiling ? `${ceiling.method} ${ceiling.block_bytes / 1024}k × ${ceiling.in_flight}` : NONE, threadsText(one),
    ceiling ? si(ceiling.ios_per_s) : NONE, said("device_reads_per_s"), said("device_writes_per_s"),
    said("ceiling_share_percent") + (standing?.reads_alone ? " (reads alone)" : ""),
    range ? `${percent(range[0])} to ${percent(range[1])}` : NONE, said("drive_share_percent"),
    standing?.ios_per_op == null ? NONE : inUnit(standing.ios_per_op, "1/op").replace("/op", ""),
    said("cpu_percent"), queue == null ? NONE : queue.toFixed(2), standing?.why_no_share ?? "",
  ];
}
