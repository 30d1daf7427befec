// What happened over time: operations with stalls shaded, what engines did inside, and
// below them CPU, drive (bytes, latency, depth), memory and size, all on one time axis.

import type { EventKind, Mark, MarkTotal, TimeLine } from "../data";
import { colourOf, dashOf, type Theme } from "../colour";
import { control, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { clock, duration, NONE, si } from "../format";
import { withoutWords } from "../gaps";
import { axis, axisLabel, cut, ENGINES_MAX, FONT, nameWidth, tip, tooltip } from "../layout";
import { rateOf, type Engine } from "../model";
import type { View } from "../view";
import { atThreads, threadsControl } from "./choices";
import { roundStep } from "./heat";
import { timeChart } from "./overtime";

export const timeline: Figure = { name: "timeline", drive: true, draw };

interface Drawn {
  engine: Engine;
  line: TimeLine;
}

type Points = [seconds: number, value: number | null][];

interface Pane {
  title: string;
  height: number;
  points: (line: TimeLine) => Points;
  /** A mean since the point before, not a reading of that moment. */
  mean?: boolean;
  /** How its values are written; else as counts. */
  format?: (value: number) => string;
  /** Stalls are shaded here. */
  shaded?: boolean;
}

const LANES: Record<EventKind, string> = {
  stall: "stall", flush: "flush", compaction: "compaction", checkpoint: "checkpoint", other: "other",
};

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "timeline");
  const cases = atThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const phases = view.work.load ? [view.work.phase, "settle"] : [view.work.phase];
  const lines = cases.flatMap((one) => view.model.data.time_lines
    .filter((line) => line.group === one.index && phases.includes(line.phase))
    .map((line) => ({ engine: one.engine, line })));
  const phase = control(view, "timeline.phase", "phase",
    phases.filter((name) => lines.some(({ line }) => line.phase === name)).map((name) => ({ value: name, label: name })), view.work.phase);
  const trials = [...new Set(lines.map(({ line }) => line.trial))].sort((a, b) => a - b);
  const trial = control(view, "timeline.trial", "trial", trials.map((n) => ({ value: String(n), label: String(n) })), String(trials[0] ?? ""));
  const drawn = lines.filter(({ line }) => line.phase === phase.value && String(line.trial) === trial.value);
  const panes = panesOf(drawn, view.work.load);
  if (panes.length === 0) return null;
  const without = withoutWords(view, cases, drawn.map((one) => one.engine), (one) => rateOf(one, view.work.roles[0] ?? ""), "no time line of this trial");
  // Many engines: one thing at a time, a small chart for each of them.
  const many = new Set(drawn.map((one) => one.engine)).size > ENGINES_MAX;
  const pane = control(view, "timeline.shows", "shows", panes.map(({ title }) => ({ value: title, label: title })), panes[0]?.title ?? "");
  const shown = panes.find(({ title }) => title === pane.value);
  if (many && shown) {
    const lines = drawn.map((one) => ({ engine: one.engine, points: stepped(known(shown.points(one.line)), shown) as [number, number][] }));
    return {
      title: "Throughput and the machine over time",
      note: `One trial. ${shown.title}, a small chart for each engine, all with the same axes.`,
      how: ["What engines did inside, and their stalls, are drawn where six or fewer are chosen."],
      controls: [pane, threads, phase, trial],
      cases,
      without,
      chart: (width, theme) => timeChart([{ title: shown.title, lines: lines.filter((line) => line.points.length > 1) }], { name: shown.title, format: formatOf(shown), log: false }, width, theme),
      table: () => tableOf(drawn, panes),
    };
  }
  return {
    title: "Throughput and the machine over time",
    note: `One trial. Ops/s: higher is better${marksWords(drawn)}.`,
    how: ["Below: what that took of CPU, device, memory and space. The device's IOPS, bytes, latency and queue depth are the whole device's, not this process's."],
    controls: [threads, phase, trial],
    cases,
    without,
    chart: (width, theme) => chart(drawn, panes, width, theme),
    table: () => tableOf(drawn, panes),
  };
}

/** How to read the marks, of those that are drawn. */
function marksWords(drawn: Drawn[]): string {
  const marks = drawn.flatMap(({ line }) => line.marks), stalls = marks.some((mark) => mark.kind === "stall" && mark.end_s != null);
  return (stalls ? "; shaded: the engine stalled its writers" : "") + (marks.length > 0 ? "; marks: what it did inside" : "");
}

function panesOf(drawn: Drawn[], load: boolean): Pane[] {
  const roles = [...new Set(drawn.flatMap(({ line }) => line.roles.map((role) => role.role)))];
  const panes: Pane[] = roles.map((name) => ({
    title: `${name}, ${load ? "batches" : "ops"}/s`, height: 130, shaded: true, mean: true,
    points: (line) => {
      const role = line.roles.find((role) => role.role === name);
      return line.end_s.map((end, at) => [end, role?.ops_per_s[at] ?? null]);
    },
  }));
  const machine = (title: string, mean: boolean, read: (line: TimeLine) => (number | null)[], format?: Pane["format"]): Pane => ({
    title, height: 66, mean, ...(format ? { format } : {}),
    points: (line) => line.machine.at_s.map((at, index) => [at, read(line)[index] ?? null]),
  });
  panes.push(
    machine("CPU, % of one processor", true, (line) => line.machine.cpu_percent),
    machine("device reads, IOPS", true, (line) => line.machine.read_iops ?? []),
    machine("device reads, MB/s", true, (line) => line.machine.read_mb_per_s),
    machine("device writes, IOPS", true, (line) => line.machine.write_iops ?? []),
    machine("device writes, MB/s", true, (line) => line.machine.write_mb_per_s),
    machine("latency of a device read", true, (line) => line.machine.read_us, microseconds),
    machine("latency of a device write", true, (line) => line.machine.write_us, microseconds),
    machine("latency of a device flush", true, (line) => line.machine.flush_us, microseconds),
    machine("device queue depth", true, (line) => line.machine.queue_depth),
    machine("resident memory, MiB", false, (line) => line.machine.rss_mib),
    machine("size of the database, MiB", false, (line) => line.machine.database_mib),
  );
  return panes.filter((pane) => drawn.some(({ line }) => known(pane.points(line)).length > 1 || (pane.shaded && pane.points(line).length > 0)));
}

const microseconds = (us: number): string => duration(us * 1e3);

const formatOf = (pane: Pane | undefined): ((value: number) => string) => pane?.format ?? si;

/** From the phase's begin on: the first mean is of the time before its point. */
function stepped(points: Points, pane: Pane): Points {
  const first = points[0];
  return pane.mean && first ? [[0, first[1]], ...points] : points;
}

/** Neighbours whose gap cannot be seen, as one. */
export function merged(spans: [start: number, end: number][], gap: number): [start: number, end: number][] {
  const out: [number, number][] = [];
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = out.at(-1);
    if (last && start - last[1] <= gap) last[1] = Math.max(last[1], end);
    else out.push([start, end]);
  }
  return out;
}

/** Gaps are no zeros: a value that was not read leaves none. */
const known = (points: Points): Points => points.filter(([, value]) => value != null);

function chart(drawn: Drawn[], panes: Pane[], width: number, theme: Theme): { height: number; option: Option } {
  const left = 58, right = nameWidth([...drawn.map(({ engine }) => engine.name), ...lanesOf(drawn).map((lane) => LANES[lane.kind])]), gap = 38;
  const lanes = lanesOf(drawn);
  const end = Math.max(...drawn.map(({ line }) => Math.max(line.wall_s, line.end_s.at(-1) ?? 0)));
  const step = roundStep(end, Math.max(2, Math.floor((width - left - right) / 70)));
  let top = 30;
  const places = panes.map((pane) => {
    const place = { left, top, width: width - left - right, height: pane.height };
    top += pane.height + gap;
    return place;
  });
  if (lanes.length > 0) {
    places.push({ left, top, width: width - left - right, height: lanes.length * 20 });
    top += lanes.length * 20 + gap;
  }
  const last = places.length - 1;
  const heading = (text: string, at: number) => ({
    text, left: 2, top: places[at]!.top - 24, padding: 0,
    textStyle: { color: theme.text, fontSize: 12, fontWeight: 600, fontFamily: FONT },
  });
  const option: Option = {
    title: [...panes.map((pane, at) => heading(pane.title, at)), ...(lanes.length > 0 ? [heading("inside the engines", last)] : [])],
    grid: places,
    axisPointer: { link: [{ xAxisIndex: "all" }], lineStyle: { color: theme.line } },
    xAxis: places.map((_, at) => axis(theme, at, {
      type: "value", min: 0, max: end, interval: step, splitLine: { show: false }, axisPointer: { label: { show: false } },
      axisLabel: { ...axisLabel(theme, clock), show: at === last, showMaxLabel: Math.abs(end / step - Math.round(end / step)) < 1e-6 },
    })),
    yAxis: places.map((_, at) => at < panes.length
      ? axis(theme, at, { type: "value", min: 0, splitNumber: 2, axisLine: { show: false }, axisLabel: axisLabel(theme, formatOf(panes[at])) })
      : axis(theme, at, { type: "category", inverse: true, data: lanes.map((_, lane) => String(lane)), splitLine: { show: false }, axisLabel: { show: false }, axisLine: { show: false } })),
    tooltip: tooltip(theme, { trigger: "axis",
      formatter: (items: { seriesName: string; color: string; value: [number, number]; axisIndex: number }[]) =>
        tip(`${(items[0]?.value[0] ?? 0).toFixed(1)} s`, items.filter((item) => item.axisIndex < panes.length).map((item) =>
          [`${item.seriesName}: ${panes[item.axisIndex]?.title ?? ""}`, formatOf(panes[item.axisIndex])(item.value[1]), item.color])) }),
    series: [
      ...panes.flatMap((pane, at) => drawn.map((one) => lineOf(one, pane, at, theme))),
      ...(lanes.length > 0 ? lanes.map((lane, row) => laneOf(lane, row, last, theme)) : []),
    ],
  };
  return { height: top - 8, option };
}

function lineOf({ engine, line }: Drawn, pane: Pane, at: number, theme: Theme): object {
  const colour = colourOf(engine, theme);
  const spans = line.marks.flatMap((mark): [number, number][] =>
    pane.shaded && mark.kind === "stall" && mark.end_s != null ? [[mark.start_s, mark.end_s]] : []);
  const stalls = merged(spans, line.wall_s / 200);
  return {
    type: "line", name: engine.name, xAxisIndex: at, yAxisIndex: at, showSymbol: false, data: stepped(known(pane.points(line)), pane), ...(pane.mean ? { step: "start" } : {}),
    lineStyle: { color: colour, width: 1.6, type: dashOf(engine) }, itemStyle: { color: colour }, emphasis: { disabled: true },
    endLabel: { show: pane.shaded === true, formatter: () => cut(engine.name), color: colour, fontFamily: FONT, fontSize: 12, fontWeight: 600, distance: 6, textBorderColor: theme.ground, textBorderWidth: 3 },
    ...(stalls.length > 0 ? { markArea: { silent: true, itemStyle: { color: colour, opacity: 0.16 },
      data: stalls.map(([start, end]) => [{ xAxis: start }, { xAxis: end }]) } } : {}),
  };
}

interface Lane {
  engine: Engine;
  kind: EventKind;
  marks: Mark[];
}

function lanesOf(drawn: Drawn[]): Lane[] {
  const kinds = Object.keys(LANES) as EventKind[];
  return drawn.flatMap(({ engine, line }) => kinds
    .map((kind) => ({ engine, kind, marks: line.marks.filter((mark) => mark.kind === kind) }))
    .filter((lane) => lane.marks.length > 0));
}

interface Api {
  value: (dimension: number) => number;
  coord: (point: [number, number]) => [number, number];
}

/** A row of marks: as long as they took, or a tick. */
function laneOf(lane: Lane, row: number, at: number, theme: Theme): object {
  const colour = colourOf(lane.engine, theme);
  return {
    type: "custom", name: `${lane.engine.name}, ${LANES[lane.kind]}`, xAxisIndex: at, yAxisIndex: at,
    encode: { x: [0, 2], y: 1 },
    data: lane.marks.map((mark) => ({ value: [mark.start_s, row, mark.end_s ?? mark.start_s], mark })),
    tooltip: { trigger: "item", formatter: (item: { data: { mark: Mark } }) => {
      const { mark } = item.data;
      const length = mark.end_s == null ? "" : ` for ${(mark.end_s - mark.start_s).toFixed(2)} s`;
      return tip(`${lane.engine.name}: ${LANES[lane.kind]}`, [[`at ${mark.start_s.toFixed(2)} s${length}`, ""], [mark.detail, ""]]);
    } },
    renderItem: (parameters: { dataIndex: number; coordSys: { x: number; width: number } }, api: Api) => {
      const [start, y] = api.coord([api.value(0), api.value(1)]);
      const [end] = api.coord([api.value(2), api.value(1)]);
      const shape = { x: start, y: y - 5, width: Math.max(2, end - start), height: 10 };
      const bar = { type: "rect", shape, style: { fill: colour, opacity: lane.kind === "stall" ? 1 : 0.6 } };
      if (parameters.dataIndex > 0) return bar;
      const name = { type: "text", silent: true, style: { text: LANES[lane.kind], fill: colour, font: `600 11px ${FONT}`,
        x: parameters.coordSys.x + parameters.coordSys.width + 6, y: y - 5 } };
      return { type: "group", children: [bar, name] };
    },
  };
}

function tableOf(drawn: Drawn[], panes: Pane[]) {
  const rows = drawn.flatMap(({ engine, line }) => [
    ...panes.map((pane) => {
      const points = pane.points(line);
      // A mean weighs as much as the time that it is of: the last slice may be shorter.
      const weighed = points.flatMap(([at, value], index) => value == null ? [] : [{ value, weight: pane.mean ? at - (points[index - 1]?.[0] ?? 0) : 1 }]);
      const values = weighed.map(({ value }) => value), weight = weighed.reduce((sum, one) => sum + one.weight, 0);
      const mean = weighed.reduce((sum, one) => sum + one.value * one.weight, 0) / (weight || 1);
      const cells = values.length === 0 ? [NONE, NONE, NONE] : [Math.min(...values), mean, Math.max(...values)].map(formatOf(pane));
      return [engine.name, pane.title, ...cells, String(values.length)];
    }),
    ...line.mark_totals.map((total) => [engine.name, ...totalCells(total)]),
  ]);
  return { head: ["engine", "what", "least", "mean", "most", "points"], words: 2, rows };
}

/** Of all marks, those that are not drawn too. */
export function totalCells({ kind, count, sum_s, longest_s }: MarkTotal): string[] {
  const sum = sum_s == null ? NONE : `${si(sum_s)} in all`;
  return [`${kind}, seconds`, NONE, sum, longest_s == null ? NONE : si(longest_s), String(count)];
}
