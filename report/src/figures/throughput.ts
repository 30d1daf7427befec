// Figure: throughput against threads, in a panel for each role.

import { RANGES, formatDirection, createControl, nonEmptyTexts, trialsNote, type Drawing, type Figure } from "../drawing";
import { formatValue, NONE, formatOwnThreads, formatSi } from "../format";
import { expectedEngines, findGaps } from "../gaps";
import { metricRange, rateMetric, type Engine } from "../model";
import { flawNote } from "../phrases";
import { publishedEnds, studySource, formatPublished } from "../study";
import { threadCounts, type View } from "../view";
import { barChart, type Bar, type BarPanel } from "./bars";
import { formatRelative } from "./board";
import { lineChart, metricPoint, type Line, type LinePanel } from "./lines";

export const throughput: Figure = { name: "throughput", draw };

function draw(view: View): Drawing | null {
  const threads = threadCounts(view);
  if (view.work.load || threads.length === 0) return null;
  const list = view.work.roles.map((role) => rolePanel(view, role)).filter((panel) => panel.lines.length > 0);
  if (list.length === 0) return null;
  const values = list.flatMap((panel) => panel.lines.flatMap((line) => line.points.map((point) => point.y))).filter((value) => value > 0);
  const isSpread = Math.max(...values) > 30 * Math.min(...values);
  const scale = createControl(view, "throughput.scale", "scale", [{ value: "value", label: "linear" }, { value: "log", label: "logarithmic" }], isSpread ? "log" : "value");
  const drive = list.some((panel) => panel.lines.some((line) => line.engine.drive))
    ? " Dotted grey: raw-device ceiling, reads/s of the bare drive with as many requests in flight as the run has threads in all; an operation that needs one read of the device cannot go above it." : "";
  const { study } = view.model.data.summary;
  const source = study && threads.length > 1 && list.some((panel) => panel.lines.some((line) => line.published)) ? ` Hollow: published, ${studySource(study)}, on another machine.` : "";
  const loadGenerator = view.model.data.summary.load_generator;
  const floor = loadGenerator ? ` Overhead of the load generator: ${loadGenerator.ns_per_op.toFixed(1)} ns per operation.` : "";
  const single = threads.length === 1;
  return {
    title: single ? "Throughput" : "Throughput against threads",
    note: `Ops/s, ${formatDirection("higher")}; median of ${trialsNote(view)}.${source}${flawNote(view)}`,
    how: nonEmptyTexts(RANGES, drive, floor),
    controls: single ? [] : [scale],
    whiskers: true,
    // One number of threads makes bars, not lines.
    chart: (width, theme) => (single ? barChart(list.map((panel) => panelBars(view, panel)), width, theme) : lineChart(list, {
      x: { name: "threads", type: "category", format: String, values: threads },
      y: { name: "ops/s", type: scale.value === "log" ? "log" : "value", format: formatSi },
    }, width, theme)),
    table: () => ({
      head: ["engine", "role", "threads", "ops/s", "range", "trials", "vs. first engine"],
      words: 2,
      rows: [...view.cases.flatMap((one) => (one.run?.roles ?? []).map((row) => {
        const metric = rateMetric(one, row.role);
        const range = metricRange(metric);
        return [
          one.engine.name, row.role, formatOwnThreads(row.threads, one.swept),
          metric?.value == null ? metric?.missing ?? NONE : formatValue(metric.value, "1/s"),
          range ? `${formatSi(range[0])} to ${formatSi(range[1])}` : NONE,
          String(metric?.n ?? 0),
          formatRelative(row.open_loop ? null : row.relative),
        ];
      })), ...otherRows(list)],
    }),
  };
}

/** Returns a bar for each of a panel's lines; published ones are in the table only. */
function panelBars(view: View, panel: LinePanel): BarPanel {
  const bars = panel.lines.filter((line) => !line.published).flatMap((line) => line.points.map((point): Bar =>
    ({ engine: line.engine, parts: [{ name: "ops/s", value: point.y }], range: point.range, combine: "median" })));
  return { title: `${panel.title}, ops/s`, bars, engines: expectedEngines(view), gaps: panel.gaps ?? [], format: formatSi };
}

/** Returns the table's rows of lines that are no engine's: the bare drive's, and published ones. */
const otherRows = (list: LinePanel[]): string[][] => list.flatMap((panel) =>
  panel.lines.filter((line) => line.engine.drive || line.published).flatMap((line) => line.points.map((point) => [
    line.engine.name + (line.suffix ?? ""), panel.title, String(point.x), `${formatSi(point.y)}${line.published ? "/s" : " I/Os/s"}`,
    point.range ? `${formatSi(point.range[0])} to ${formatSi(point.range[1])}` : NONE, point.detail, NONE,
  ])));

function rolePanel(view: View, role: string): LinePanel {
  const lines = view.engines.map((engine) => ({
    engine,
    points: view.cases
      .filter((one) => one.engine.id === engine.id && one.threads != null)
      .sort((a, b) => (a.threads ?? 0) - (b.threads ?? 0))
      .flatMap((one) => {
        const metric = rateMetric(one, role);
        if (metric?.value == null || one.threads == null) return [];
        return [metricPoint(one.threads, metric, metric.value)];
      }),
  }));
  const measuredLines = lines.filter((line) => line.points.length > 0);
  const drive = measuredLines.length > 0 && isReadOnly(view, role) ? driveLine(view) : null;
  const gaps = findGaps(expectedEngines(view), view.cases, (one) => one.threads, (one) => rateMetric(one, role));
  return { title: role, gaps, lines: [...measuredLines, ...publishedLines(view, role), ...(drive ? [drive] : [])] };
}

/** Returns the study's lines, at the same numbers of threads. */
function publishedLines(view: View, role: string): Line[] {
  const { study } = view.model.data.summary;
  if (!study) return [];
  return view.engines.flatMap((engine) => {
    const cases = view.cases.filter((one) => one.engine.id === engine.id && one.threads != null);
    const points = study.published.filter((row) => row.selectors.threads != null).flatMap((row) => {
      const value = row.values.find((value) => value.figure === "ops_per_s");
      const one = cases.find((one) => row.own.some((seat) => seat.group === one.index && seat.run != null && one.group.runs[seat.run] === one.run
        && (seat.role == null || one.run?.roles[seat.role]?.role === role)));
      return value && one ? publishedEnds(value).map((y) => ({ x: one.threads ?? 0, y, range: null, detail: `published: ${studySource(study)}, ${formatPublished(value)}` })) : [];
    });
    return points.length > 0 ? [{ engine, points, suffix: ", published", published: true }] : [];
  });
}

/** Whether a role only reads single keys, for which a drive has a comparable figure. */
export const isReadOnly = (view: View, role: string): boolean =>
  view.cases.every((one) => (one.run?.roles ?? []).every((row) => row.role !== role || row.mix === "get"));

const DRIVE: Engine = { id: "bare drive", name: "bare drive", title: "bare drive", durability: "", loadGenerator: true, drive: true, order: 0, hue: 0, again: false };

/** Returns the line of the bare drive, with as many requests in flight as the engines have threads in all
 * roles, swept or not. */
export function driveLine(view: View): Line | null {
  const points = threadCounts(view).flatMap((threads) => {
    const standings = view.cases.flatMap((one) => (one.threads === threads ? one.run?.efficiency ?? [] : []));
    const [best] = standings
      .flatMap(({ ceiling, in_flight }) => (ceiling && ceiling.reads_share > 0.9 && ceiling.in_flight === in_flight ? [ceiling] : []))
      .sort((a, b) => b.ios_per_s - a.ios_per_s);
    if (!best) return [];
    const range: [number, number] | null = best.n < 2 ? null : [best.ios_per_s_low, best.ios_per_s_high];
    return [{ x: threads, y: best.ios_per_s, range, detail: `${best.method || best.job} × ${best.in_flight}, ${best.n} trials` }];
  });
  return points.length > 0 ? { engine: DRIVE, points } : null;
}
