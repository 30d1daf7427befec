// What one operation costs: CPU, I/Os, bytes, context switches.

import { better, paragraphs, trialsNote, type Drawing, type Figure } from "../drawing";
import { bytes, duration, inUnit, NONE, si } from "../format";
import { barGaps } from "../gaps";
import { costOf, rangeOf, threadsText, type Case } from "../model";
import type { View } from "../view";
import { barChart, type Bar, type BarPanel } from "./bars";
import type { Theme } from "../colour";
import { stacked } from "../table";
import { atThreads, threadsControl } from "./choices";
import { apartOf, mixWords } from "./mixes";

export const cost: Figure = { name: "cost", draw };

type Figures = Pick<Bar, "parts" | "range" | "combine">;
type Read = (one: Case) => Figures | null;

const FIGURES = [
  "cpu_ns_per_op", "device_reads_per_op", "device_writes_per_op", "device_read_bytes_per_op",
  "device_write_bytes_per_op", "context_switches_per_op",
] as const;

/** Two figures that add up; without the second the first alone. */
function both(names: [figure: string, called: string][]): Read {
  return (one) => {
    const metrics = names.map(([figure, name]) => ({ metric: costOf(one, figure), name }));
    const parts = metrics.flatMap(({ metric, name }) => (metric?.value == null ? [] : [{ name, value: metric.value }]));
    const ranges = metrics.map(({ metric }) => rangeOf(metric));
    const range = names.length === 1 ? ranges[0] ?? null : null;
    const combine = metrics[0]?.metric?.combine ?? "median";
    return parts.length === names.length ? { parts, range, combine } : null;
  };
}

/** The process's time in both modes is known; their shares divide the time of an operation. */
function cpu(one: Case): Figures | null {
  const whole = costOf(one, "cpu_ns_per_op");
  const user = costOf(one, "cpu_user_ns")?.value, system = costOf(one, "cpu_system_ns")?.value;
  if (whole?.value == null) return null;
  const rest = { range: rangeOf(whole), combine: whole.combine };
  if (user == null || system == null || user + system === 0) {
    return { parts: [{ name: "CPU", value: whole.value }], ...rest };
  }
  const share = user / (user + system);
  return {
    parts: [{ name: "user", value: whole.value * share }, { name: "system", value: whole.value * (1 - share) }],
    ...rest,
  };
}

const PANELS: { title: string; name: (typeof FIGURES)[number]; read: Read; format: (value: number) => string; binary?: boolean }[] = [
  { title: "CPU time per op (pale: system)", name: "cpu_ns_per_op", read: cpu, format: duration },
  { title: "I/Os per op (pale: writes)", name: "device_reads_per_op", read: both([["device_reads_per_op", "reads"], ["device_writes_per_op", "writes"]]), format: si },
  { title: "bytes read per op", name: "device_read_bytes_per_op", read: both([["device_read_bytes_per_op", "read"]]), format: bytes, binary: true },
  { title: "bytes written per op", name: "device_write_bytes_per_op", read: both([["device_write_bytes_per_op", "written"]]), format: bytes, binary: true },
  { title: "context switches per op", name: "context_switches_per_op", read: both([["context_switches_per_op", "switches"]]), format: si },
];

function draw(view: View): Drawing | null {
  if (view.work.load) return null;
  const threads = threadsControl(view, "cost");
  const cases = atThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const list: BarPanel[] = PANELS.map(({ title, name, read, format, binary }) => ({
    title, format, ...barGaps(view, cases, (one) => costOf(one, name)), binary: binary ?? false,
    bars: cases.flatMap((one) => {
      const bar = read(one);
      return bar ? [{ engine: one.engine, ...bar }] : [];
    }),
  })).filter((panel) => panel.bars.length > 0);
  if (list.length === 0) return null;
  const mixes = mixWords(cases), apart = apartOf(cases);
  const rows = () => view.cases.map((one) => rowOf(one));
  return {
    title: "Cost per operation",
    note: apart ? "Not comparable between engines: their operations were not the same. Therefore numbers, and no bars side by side."
      : `What process and drive did per operation, ${better("lower")}; median of ${trialsNote(view)}.`,
    how: paragraphs("Over the operations of all roles, background work included. Bytes and I/Os are the whole device's, not this process's; writes counted up to the end of a sync.",
      mixes && `Operations here: ${mixes}.`),
    controls: [threads],
    cases,
    whiskers: true,
    // Bars side by side are held against each other: these may not be.
    ...(apart ? { element: () => stacked({ head: HEAD, rows: rows() }, "Cost per operation") } : { chart: (width: number, theme: Theme) => barChart(list, width, theme) }),
    table: () => ({ head: HEAD, rows: rows() }),
  };
}

const HEAD = ["engine", "threads", "CPU/op", "user", "system", "reads/op", "writes/op", "read/op", "written/op", "switches/op", "n"];

function rowOf(one: Case): string[] {
  const split = cpu(one)?.parts ?? [];
  const figures = FIGURES.map((name) => costOf(one, name));
  const cells = figures.map((metric) => (metric?.value == null ? NONE : inUnit(metric.value, metric.unit)));
  const time = (name: string) => { const found = split.find((part) => part.name === name); return found ? duration(found.value) : NONE; };
  return [one.engine.name, threadsText(one), cells[0] ?? NONE, time("user"), time("system"), ...cells.slice(1), String(figures[0]?.n ?? 0)];
}
