// Throughput against threads, a panel for each role.

import { RANGES, better, control, paragraphs, trialsNote, type Drawing, type Figure } from "../drawing";
import { inUnit, NONE, ownThreads, si } from "../format";
import { expectedEngines, gapsOf } from "../gaps";
import { rangeOf, rateOf, type Engine } from "../model";
import { endsOf, sourceOf, textOf } from "../study";
import { threadsOf, type View } from "../view";
import { barChart, type Bar, type BarPanel } from "./bars";
import { relativeToBase } from "./board";
import { lineChart, pointOf, type Line, type LinePanel } from "./lines";

export const throughput: Figure = { name: "throughput", draw };

function draw(view: View): Drawing | null {
  const threads = threadsOf(view);
  if (view.work.load || threads.length === 0) return null;
  const list = view.work.roles.map((role) => panel(view, role)).filter((panel) => panel.lines.length > 0);
  if (list.length === 0) return null;
  const values = list.flatMap((panel) => panel.lines.flatMap((line) => line.points.map((point) => point.y))).filter((value) => value > 0);
  const far = Math.max(...values) > 30 * Math.min(...values);
  const scale = control(view, "throughput.scale", "scale", [{ value: "value", label: "linear" }, { value: "log", label: "logarithmic" }], far ? "log" : "value");
  const drive = list.some((panel) => panel.lines.some((line) => line.engine.drive))
    ? " Dotted grey: raw-device ceiling, reads/s of the bare drive with as many requests in flight as the run has threads in all; an operation that needs one read of the device cannot go above it." : "";
  const { study } = view.model.data.summary;
  const source = study && threads.length > 1 && list.some((panel) => panel.lines.some((line) => line.published)) ? ` Hollow: published, ${sourceOf(study)}, on another machine.` : "";
  const loadGenerator = view.model.data.summary.load_generator;
  const floor = loadGenerator ? ` Overhead of the load generator: ${loadGenerator.ns_per_op.toFixed(1)} ns per operation.` : "";
  const single = threads.length === 1;
  return {
    title: single ? "Throughput" : "Throughput against threads",
    note: `Ops/s, ${better("higher")}; median of ${trialsNote(view)}.${source}`,
    how: paragraphs(RANGES, drive, floor),
    controls: single ? [] : [scale],
    whiskers: true,
    // One number of threads is no course.
    chart: (width, theme) => (single ? barChart(list.map((panel) => barsOf(view, panel)), width, theme) : lineChart(list, {
      x: { name: "threads", type: "category", format: String, values: threads },
      y: { name: "ops/s", type: scale.value === "log" ? "log" : "value", format: si },
    }, width, theme)),
    table: () => ({
      head: ["engine", "role", "threads", "ops/s", "range", "trials", "vs. first engine"],
      words: 2,
      rows: [...view.cases.flatMap((one) => (one.run?.roles ?? []).map((row) => {
        const metric = rateOf(one, row.role);
        const range = rangeOf(metric);
        return [
          one.engine.name, row.role, ownThreads(row.threads, one.swept),
          metric?.value == null ? metric?.missing ?? NONE : inUnit(metric.value, "1/s"),
          range ? `${si(range[0])} to ${si(range[1])}` : NONE,
          String(metric?.n ?? 0),
          relativeToBase(row.relative),
        ];
      })), ...otherRows(list)],
    }),
  };
}

/** A bar for each of a panel's lines; what was published is beside them in the table. */
function barsOf(view: View, panel: LinePanel): BarPanel {
  const bars = panel.lines.filter((line) => !line.published).flatMap((line) => line.points.map((point): Bar =>
    ({ engine: line.engine, parts: [{ name: "ops/s", value: point.y }], range: point.range, combine: "median" })));
  return { title: `${panel.title}, ops/s`, bars, engines: expectedEngines(view), gaps: panel.gaps ?? [], format: si };
}

/** In numbers what is no case of an engine: the bare drive's I/Os a second, and what was published. */
const otherRows = (list: LinePanel[]): string[][] => list.flatMap((panel) =>
  panel.lines.filter((line) => line.engine.drive || line.published).flatMap((line) => line.points.map((point) => [
    line.engine.name + (line.suffix ?? ""), panel.title, String(point.x), `${si(point.y)}${line.published ? "/s" : " I/Os/s"}`,
    point.range ? `${si(point.range[0])} to ${si(point.range[1])}` : NONE, point.detail, NONE,
  ])));

function panel(view: View, role: string): LinePanel {
  const lines = view.engines.map((engine) => ({
    engine,
    points: view.cases
      .filter((one) => one.engine.id === engine.id && one.threads != null)
      .sort((a, b) => (a.threads ?? 0) - (b.threads ?? 0))
      .flatMap((one) => {
        const metric = rateOf(one, role);
        if (metric?.value == null || one.threads == null) return [];
        return [pointOf(one.threads, metric, metric.value)];
      }),
  }));
  const shown = lines.filter((line) => line.points.length > 0);
  const drive = shown.length > 0 && readsOnly(view, role) ? driveLine(view) : null;
  const gaps = gapsOf(expectedEngines(view), view.cases, (one) => one.threads, (one) => rateOf(one, role));
  return { title: role, gaps, lines: [...shown, ...publishedLines(view, role), ...(drive ? [drive] : [])] };
}

/** What the study found at the same numbers of threads. */
function publishedLines(view: View, role: string): Line[] {
  const { study } = view.model.data.summary;
  if (!study) return [];
  return view.engines.flatMap((engine) => {
    const cases = view.cases.filter((one) => one.engine.id === engine.id && one.threads != null);
    const points = study.published.filter((row) => row.selectors.threads != null).flatMap((row) => {
      const value = row.values.find((value) => value.figure === "ops_per_s");
      const one = cases.find((one) => row.own.some((seat) => seat.group === one.index && seat.run != null && one.group.runs[seat.run] === one.run
        && (seat.role == null || one.run?.roles[seat.role]?.role === role)));
      return value && one ? endsOf(value).map((y) => ({ x: one.threads ?? 0, y, range: null, detail: `published: ${sourceOf(study)}, ${textOf(value)}` })) : [];
    });
    return points.length > 0 ? [{ engine, points, suffix: ", published", published: true }] : [];
  });
}

/** Its operations are reads of single keys: of those a drive has its own figure. */
export const readsOnly = (view: View, role: string): boolean =>
  view.cases.every((one) => (one.run?.roles ?? []).every((row) => row.role !== role || row.mix === "get"));

const DRIVE: Engine = { id: "bare drive", name: "bare drive", title: "bare drive", durability: "", loadGenerator: true, drive: true, order: 0, hue: 0, again: false };

/** What engines are held against at each number of threads: the bare drive with as many requests in
 * flight as they have threads in all (a role that is not swept has threads, too). */
export function driveLine(view: View): Line | null {
  const points = threadsOf(view).flatMap((threads) => {
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
