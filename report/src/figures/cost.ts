// Figure: the cost of one operation in CPU time, I/Os, bytes and context switches.

import { formatDirection, nonEmptyTexts, trialsNote, type Drawing, type Figure } from "../drawing";
import { formatBytes, formatDuration, formatValue, NONE, formatSi } from "../format";
import { barGaps } from "../gaps";
import { costMetric, metricRange, threadsText, type Case } from "../model";
import type { View } from "../view";
import { barChart, type Bar, type BarPanel } from "./bars";
import type { Theme } from "../colour";
import { createStackedTable } from "../table";
import { casesAtThreads, threadsControl } from "./choices";
import { incomparableReason, formatMixes } from "./mixes";

export const cost: Figure = { name: "cost", draw };

type Figures = Pick<Bar, "parts" | "range" | "combine">;
type Read = (one: Case) => Figures | null;

const FIGURES = [
  "cpu_ns_per_op", "device_reads_per_op", "device_writes_per_op", "device_read_bytes_per_op",
  "device_write_bytes_per_op", "context_switches_per_op",
] as const;

/** Returns a reader that adds up figures as the parts of a bar. */
function sumFigures(names: [figure: string, label: string][]): Read {
  return (one) => {
    const metrics = names.map(([figure, name]) => ({ metric: costMetric(one, figure), name }));
    const parts = metrics.flatMap(({ metric, name }) => (metric?.value == null ? [] : [{ name, value: metric.value }]));
    const ranges = metrics.map(({ metric }) => metricRange(metric));
    const range = names.length === 1 ? ranges[0] ?? null : null;
    const combine = metrics[0]?.metric?.combine ?? "median";
    return parts.length === names.length ? { parts, range, combine } : null;
  };
}

/** Splits the CPU time of an operation by the process's shares of user and system time. */
function splitCpuTime(one: Case): Figures | null {
  const total = costMetric(one, "cpu_ns_per_op");
  const user = costMetric(one, "cpu_user_ns")?.value, system = costMetric(one, "cpu_system_ns")?.value;
  if (total?.value == null) return null;
  const figure = { range: metricRange(total), combine: total.combine };
  if (user == null || system == null || user + system === 0) {
    return { parts: [{ name: "CPU", value: total.value }], ...figure };
  }
  const share = user / (user + system);
  return {
    parts: [{ name: "user", value: total.value * share }, { name: "system", value: total.value * (1 - share) }],
    ...figure,
  };
}

const PANELS: { title: string; name: (typeof FIGURES)[number]; read: Read; format: (value: number) => string; binary?: boolean }[] = [
  { title: "CPU time per op (pale: system)", name: "cpu_ns_per_op", read: splitCpuTime, format: formatDuration },
  { title: "I/Os per op (pale: writes)", name: "device_reads_per_op", read: sumFigures([["device_reads_per_op", "reads"], ["device_writes_per_op", "writes"]]), format: formatSi },
  { title: "bytes read per op", name: "device_read_bytes_per_op", read: sumFigures([["device_read_bytes_per_op", "read"]]), format: formatBytes, binary: true },
  { title: "bytes written per op", name: "device_write_bytes_per_op", read: sumFigures([["device_write_bytes_per_op", "written"]]), format: formatBytes, binary: true },
  { title: "context switches per op", name: "context_switches_per_op", read: sumFigures([["context_switches_per_op", "switches"]]), format: formatSi },
];

function draw(view: View): Drawing | null {
  if (view.work.load) return null;
  const threads = threadsControl(view, "cost");
  const cases = casesAtThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const list: BarPanel[] = PANELS.map(({ title, name, read, format, binary }) => ({
    title, format, ...barGaps(view, cases, (one) => costMetric(one, name)), binary: binary ?? false,
    bars: cases.flatMap((one) => {
      const bar = read(one);
      return bar ? [{ engine: one.engine, ...bar }] : [];
    }),
  })).filter((panel) => panel.bars.length > 0);
  if (list.length === 0) return null;
  const mixes = formatMixes(cases), incomparable = incomparableReason(cases);
  const tableRows = () => view.cases.map((one) => tableRow(one));
  return {
    title: "Cost per operation",
    note: incomparable ? "Not comparable between engines: their operations were not the same. Therefore numbers, and no bars side by side."
      : `What process and drive did per operation, ${formatDirection("lower")}; median of ${trialsNote(view)}.`,
    how: nonEmptyTexts("Over the operations of all roles, background work included. Bytes and I/Os are the whole device's, not this process's; writes counted up to the end of a sync.",
      mixes && `Operations here: ${mixes}.`),
    controls: [threads],
    cases,
    whiskers: true,
    // Bars side by side invite comparison: figures that are not comparable are a table.
    ...(incomparable ? { element: () => createStackedTable({ head: HEAD, rows: tableRows() }, "Cost per operation") } : { chart: (width: number, theme: Theme) => barChart(list, width, theme) }),
    table: () => ({ head: HEAD, rows: tableRows() }),
  };
}

const HEAD = ["engine", "threads", "CPU/op", "user", "system", "reads/op", "writes/op", "read/op", "written/op", "switches/op", "n"];

function tableRow(one: Case): string[] {
  const parts = splitCpuTime(one)?.parts ?? [];
  const figures = FIGURES.map((name) => costMetric(one, name));
  const cells = figures.map((metric) => (metric?.value == null ? NONE : formatValue(metric.value, metric.unit)));
  const formatPart = (name: string) => { const part = parts.find((part) => part.name === name); return part ? formatDuration(part.value) : NONE; };
  return [one.engine.name, threadsText(one), cells[0] ?? NONE, formatPart("user"), formatPart("system"), ...cells.slice(1), String(figures[0]?.n ?? 0)];
}
