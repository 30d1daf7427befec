// Figure: an engine's I/Os per second relative to the bare drive's with as many requests in flight,
// its limit, and its I/Os per operation. It needs a run that measured the drive itself.

import type { Efficiency, Limit } from "../data";
import { nonEmptyTexts, trialsNote, type Drawing, type Figure } from "../drawing";
import { formatValue, NONE, formatSi } from "../format";
import { barGaps, expectedEngines, missingReason } from "../gaps";
import { costMetric, metricRange, threadsText, type Case } from "../model";
import type { View } from "../view";
import { barChart, type Bar, type BarPanel } from "./bars";
import { casesAtThreads, threadsControl } from "./choices";

export const efficiency: Figure = { name: "efficiency", draw };

export const LIMITS: Record<Limit, string> = {
  cpu_user: "CPU user", cpu_system: "CPU sys", no_cpu: "CPU wait", flushes: "flushes", syncs: "syncs", reads: "reads",
  writes: "writes", drive_full: "drive full", device: "device", stalls: "stalls", lock: "lock", schedule: "schedule",
  server: "server", turns: "mixed",
};

/** Returns `reads`, or `CPU user, cached` if the data was in memory; empty: not known. */
export function limitLabel(standing: Efficiency): string {
  const words = [standing.limit ? LIMITS[standing.limit] : "", standing.cached ? "cached" : ""];
  return words.filter((word) => word !== "").join(", ");
}

function draw(view: View): Drawing | null {
  if (view.work.load || view.model.data.ceilings.length === 0) return null;
  const threads = threadsControl(view, "efficiency");
  const cases = casesAtThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const list: BarPanel[] = [
    { title: "share of the raw-device ceiling", format: formatPercent, bars: cases.flatMap((one) => shareBars(one)), ...shareGaps(view, cases) },
    { title: "share of peak IOPS", format: formatPercent, bars: cases.flatMap((one) => figureBars(one, "drive_share_percent")), ...barGaps(view, cases, (one) => costMetric(one, "drive_share_percent")) },
    { title: "I/Os per op", format: formatSi, bars: cases.flatMap((one) => ioBars(one)), ...barGaps(view, cases, (one) => costMetric(one, "device_reads_per_s")) },
  ].filter((panel) => panel.bars.length > 0);
  if (list.length === 0) return null;
  return {
    title: "How far from the drive",
    note: `Device IOPS over those of the bare drive, and what limits: neither way is better; ${trialsNote(view)}.`,
    how: nonEmptyTexts("The ceiling is the bare drive with as many requests in flight; the peak is the highest of this run. The share says how full the drive is.",
      "What limits took half or more of the threads' time; cached: memory was measured. I/Os per op: pale are writes.", readsAloneNote(cases), noShareNote(cases)),
    controls: [threads],
    cases,
    whiskers: true,
    chart: (width, theme) => barChart(list, width, theme),
    table: () => ({
      head: ["engine", "limit", "ceiling", "threads", "ceiling, IOPS", "reads/s", "writes/s", "share", "range", "of peak", "I/Os/op", "CPU", "queue", "why no share"],
      words: 3,
      rows: view.cases.filter((one) => !one.engine.loadGenerator).map((one) => tableRow(one)),
    }),
  };
}

const formatPercent = (value: number): string => formatValue(value, "%");

/** Returns the bar of a figure of the whole phase, if it has a value. */
function figureBars(one: Case, name: string): Bar[] {
  const metric = costMetric(one, name);
  if (metric?.value == null) return [];
  return [{ engine: one.engine, parts: [{ name, value: metric.value }], range: metricRange(metric), combine: metric.combine }];
}

function shareBars(one: Case): Bar[] {
  const standing = one.run?.efficiency;
  if (!standing) return [];
  return figureBars(one, "ceiling_share_percent").map((bar) => ({ ...bar, word: limitLabel(standing) }));
}

function shareGaps(view: View, cases: Case[]): Pick<BarPanel, "engines" | "gaps"> {
  const engines = expectedEngines(view);
  return { engines, gaps: engines.flatMap((engine) => {
    const one = cases.find((each) => each.engine.id === engine.id);
    if (one && shareBars(one).length > 0) return [];
    const reason = one?.run?.efficiency?.why_no_share ?? missingReason(one, one ? costMetric(one, "ceiling_share_percent") : null);
    return [{ engine, at: null, why: reason }];
  }) };
}

/** Returns the bar of I/Os per operation in the window; the cost of an operation also counts writes up to a sync. */
function ioBars(one: Case): Bar[] {
  const reads = costMetric(one, "device_reads_per_s"), writes = costMetric(one, "device_writes_per_s");
  const iosPerOp = one.run?.efficiency?.ios_per_op;
  const total = (reads?.value ?? 0) + (writes?.value ?? 0);
  if (iosPerOp == null || reads?.value == null) return [];
  const share = total > 0 ? reads.value / total : 1;
  const parts = [{ name: "reads", value: iosPerOp * share }, { name: "writes", value: iosPerOp * (1 - share) }];
  return [{ engine: one.engine, parts, range: null, combine: reads.combine }];
}

/** Names the engines whose writes no ceiling covers. */
function readsAloneNote(cases: Case[]): string {
  const engines = cases.filter((one) => one.run?.efficiency?.reads_alone && one.run.efficiency.ceiling).map((one) => one.engine.name);
  return engines.length > 0 ? `${engines.join(", ")}: only reads are compared with it, because no ceiling here covers its writes. ` : "";
}

/** Explains why engines have no share, each reason once. */
function noShareNote(cases: Case[]): string {
  const reasons = new Map<string, string[]>();
  for (const one of cases) {
    const reason = one.run?.efficiency?.why_no_share;
    if (reason) reasons.set(reason, [...(reasons.get(reason) ?? []), one.engine.name]);
  }
  return [...reasons].map(([reason, engines]) => `No share of ${engines.join(", ")}: ${reason}. `).join("");
}

function tableRow(one: Case): string[] {
  const standing = one.run?.efficiency;
  const formatFigure = (name: string) => { const metric = costMetric(one, name); return metric?.value == null ? NONE : formatValue(metric.value, metric.unit); };
  const ceiling = standing?.ceiling;
  const range = metricRange(costMetric(one, "ceiling_share_percent"));
  const queue = costMetric(one, "device_queue_depth_mean")?.value;
  return [
    one.engine.name, standing ? limitLabel(standing) || NONE : NONE,
    ceiling ? `${ceiling.method} ${ceiling.block_bytes / 1024}k × ${ceiling.in_flight}` : NONE, threadsText(one),
    ceiling ? formatSi(ceiling.ios_per_s) : NONE, formatFigure("device_reads_per_s"), formatFigure("device_writes_per_s"),
    formatFigure("ceiling_share_percent") + (standing?.reads_alone ? " (reads alone)" : ""),
    range ? `${formatPercent(range[0])} to ${formatPercent(range[1])}` : NONE, formatFigure("drive_share_percent"),
    standing?.ios_per_op == null ? NONE : formatValue(standing.ios_per_op, "1/op").replace("/op", ""),
    formatFigure("cpu_percent"), queue == null ? NONE : queue.toFixed(2), standing?.why_no_share ?? "",
  ];
}
