// Figure: a phase over time: operations with stalls shaded, CPU, drive (bytes, latency, depth), memory,
// size, and the engines' internal events, all on one time axis.

import type { EventKind, Mark, MarkTotal, TimeLine } from "../data";
import { engineColour, engineDash, type Theme } from "../colour";
import { createControl, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { formatClock, formatDuration, NONE, formatSi } from "../format";
import { notDrawnEngines } from "../gaps";
import { axisOptions, axisLabelOptions, truncate, ENGINES_MAX, FONT, nameWidth, tooltipContent, tooltipOptions } from "../layout";
import { phasesUntilSettled, rateMetric, unique, type Engine } from "../model";
import type { View } from "../view";
import { casesAtThreads, threadsControl } from "./choices";
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
  /** Whether a value is a mean since the point before, not a reading of that moment. */
  mean?: boolean;
  /** The format of values; absent: that of counts. */
  format?: (value: number) => string;
  /** Whether stalls are shaded. */
  shaded?: boolean;
}

const LANES: Record<EventKind, string> = {
  stall: "stall", flush: "flush", compaction: "compaction", checkpoint: "checkpoint", other: "other",
};

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "timeline");
  const cases = casesAtThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const phases = unique(cases.flatMap(phasesUntilSettled));
  const lines = cases.flatMap((one) => view.model.data.time_lines
    .filter((line) => line.group === one.index && phasesUntilSettled(one).includes(line.phase))
    .map((line) => ({ engine: one.engine, line })));
  const phase = createControl(view, "timeline.phase", "phase",
    phases.filter((name) => lines.some(({ line }) => line.phase === name)).map((name) => ({ value: name, label: name })), view.work.phase);
  const trials = [...new Set(lines.map(({ line }) => line.trial))].sort((a, b) => a - b);
  const trial = createControl(view, "timeline.trial", "trial", trials.map((n) => ({ value: String(n), label: String(n) })), String(trials[0] ?? ""));
  const trialLines = lines.filter(({ line }) => line.phase === phase.value && String(line.trial) === trial.value);
  const panes = listPanes(trialLines, view.work.load);
  if (panes.length === 0) return null;
  const notDrawn = notDrawnEngines(view, cases, trialLines.map((one) => one.engine), (one) => rateMetric(one, view.work.roles[0] ?? ""), "no time line of this trial");
  // Many engines: one pane at a time, with a small chart for each engine.
  const many = new Set(trialLines.map((one) => one.engine)).size > ENGINES_MAX;
  const pane = createControl(view, "timeline.shows", "shows", panes.map(({ title }) => ({ value: title, label: title })), panes[0]?.title ?? "");
  const shownPane = panes.find(({ title }) => title === pane.value);
  if (many && shownPane) {
    const lines = trialLines.map((one) => ({ engine: one.engine, points: addStart(knownPoints(shownPane.points(one.line)), shownPane) as [number, number][] }));
    return {
      title: "Throughput and the machine over time",
      note: `One trial. ${shownPane.title}, a small chart for each engine, all with the same axes.`,
      how: ["What engines did inside, and their stalls, are drawn where six or fewer are chosen."],
      controls: [pane, threads, phase, trial],
      cases,
      notDrawn,
      chart: (width, theme) => timeChart([{ title: shownPane.title, lines: lines.filter((line) => line.points.length > 1) }], { name: shownPane.title, format: paneFormat(shownPane), log: false }, width, theme),
      table: () => panesTable(trialLines, panes),
    };
  }
  return {
    title: "Throughput and the machine over time",
    note: `One trial. Ops/s: higher is better${marksNote(trialLines)}.`,
    how: ["Below: what that took of CPU, device, memory and space. The device's IOPS, bytes, latency and queue depth are the whole device's, not this process's."],
    controls: [threads, phase, trial],
    cases,
    notDrawn,
    chart: (width, theme) => timelineChart(trialLines, panes, width, theme),
    table: () => panesTable(trialLines, panes),
  };
}

/** Explains the marks that are drawn. */
function marksNote(trialLines: Drawn[]): string {
  const marks = trialLines.flatMap(({ line }) => line.marks), stalls = marks.some((mark) => mark.kind === "stall" && mark.end_s != null);
  return (stalls ? "; shaded: the engine stalled its writers" : "") + (marks.length > 0 ? "; marks: what it did inside" : "");
}

function listPanes(trialLines: Drawn[], load: boolean): Pane[] {
  const roles = [...new Set(trialLines.flatMap(({ line }) => line.roles.map((role) => role.role)))];
  const panes: Pane[] = roles.map((name) => ({
    title: `${name}, ${load ? "batches" : "ops"}/s`, height: 130, shaded: true, mean: true,
    points: (line) => {
      const role = line.roles.find((role) => role.role === name);
      return line.end_s.map((end, at) => [end, role?.ops_per_s[at] ?? null]);
    },
  }));
  const machinePane = (title: string, mean: boolean, read: (line: TimeLine) => (number | null)[], format?: Pane["format"]): Pane => ({
    title, height: 66, mean, ...(format ? { format } : {}),
    points: (line) => line.machine.at_s.map((at, index) => [at, read(line)[index] ?? null]),
  });
  panes.push(
    machinePane("CPU, % of one processor", true, (line) => line.machine.cpu_percent),
    machinePane("device reads, IOPS", true, (line) => line.machine.read_iops ?? []),
    machinePane("device reads, MB/s", true, (line) => line.machine.read_mb_per_s),
    machinePane("device writes, IOPS", true, (line) => line.machine.write_iops ?? []),
    machinePane("device writes, MB/s", true, (line) => line.machine.write_mb_per_s),
    machinePane("latency of a device read", true, (line) => line.machine.read_us, formatMicroseconds),
    machinePane("latency of a device write", true, (line) => line.machine.write_us, formatMicroseconds),
    machinePane("latency of a device flush", true, (line) => line.machine.flush_us, formatMicroseconds),
    machinePane("device queue depth", true, (line) => line.machine.queue_depth),
    machinePane("resident memory, MiB", false, (line) => line.machine.rss_mib),
    machinePane("size of the database, MiB", false, (line) => line.machine.database_mib),
  );
  return panes.filter((pane) => trialLines.some(({ line }) => knownPoints(pane.points(line)).length > 1 || (pane.shaded && pane.points(line).length > 0)));
}

const formatMicroseconds = (us: number): string => formatDuration(us * 1e3);

const paneFormat = (pane: Pane | undefined): ((value: number) => string) => pane?.format ?? formatSi;

/** Adds a point at the phase's begin: the first mean is of the time before its point. */
function addStart(points: Points, pane: Pane): Points {
  const first = points[0];
  return pane.mean && first ? [[0, first[1]], ...points] : points;
}

/** Merges neighbouring spans with an invisible gap. */
export function mergeSpans(spans: [start: number, end: number][], gap: number): [start: number, end: number][] {
  const out: [number, number][] = [];
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = out.at(-1);
    if (last && start - last[1] <= gap) last[1] = Math.max(last[1], end);
    else out.push([start, end]);
  }
  return out;
}

/** Returns the points with a value: a missing value is not zero, and leaves no gap in the line. */
const knownPoints = (points: Points): Points => points.filter(([, value]) => value != null);

function timelineChart(trialLines: Drawn[], panes: Pane[], width: number, theme: Theme): { height: number; option: Option } {
  const left = 58, right = nameWidth([...trialLines.map(({ engine }) => engine.name), ...eventLanes(trialLines).map((lane) => LANES[lane.kind])]), gap = 38;
  const lanes = eventLanes(trialLines);
  const end = Math.max(...trialLines.map(({ line }) => Math.max(line.wall_s, line.end_s.at(-1) ?? 0)));
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
    xAxis: places.map((_, at) => axisOptions(theme, at, {
      type: "value", min: 0, max: end, interval: step, splitLine: { show: false }, axisPointer: { label: { show: false } },
      axisLabel: { ...axisLabelOptions(theme, formatClock), show: at === last, showMaxLabel: Math.abs(end / step - Math.round(end / step)) < 1e-6 },
    })),
    yAxis: places.map((_, at) => at < panes.length
      ? axisOptions(theme, at, { type: "value", min: 0, splitNumber: 2, axisLine: { show: false }, axisLabel: axisLabelOptions(theme, paneFormat(panes[at])) })
      : axisOptions(theme, at, { type: "category", inverse: true, data: lanes.map((_, lane) => String(lane)), splitLine: { show: false }, axisLabel: { show: false }, axisLine: { show: false } })),
    tooltip: tooltipOptions(theme, { trigger: "axis",
      formatter: (items: { seriesName: string; color: string; value: [number, number]; axisIndex: number }[]) =>
        tooltipContent(`${(items[0]?.value[0] ?? 0).toFixed(1)} s`, items.filter((item) => item.axisIndex < panes.length).map((item) =>
          [`${item.seriesName}: ${panes[item.axisIndex]?.title ?? ""}`, paneFormat(panes[item.axisIndex])(item.value[1]), item.color])) }),
    series: [
      ...panes.flatMap((pane, at) => trialLines.map((one) => paneSeries(one, pane, at, theme))),
      ...(lanes.length > 0 ? lanes.map((lane, row) => laneSeries(lane, row, last, theme)) : []),
    ],
  };
  return { height: top - 8, option };
}

function paneSeries({ engine, line }: Drawn, pane: Pane, at: number, theme: Theme): object {
  const colour = engineColour(engine, theme);
  const spans = line.marks.flatMap((mark): [number, number][] =>
    pane.shaded && mark.kind === "stall" && mark.end_s != null ? [[mark.start_s, mark.end_s]] : []);
  const stalls = mergeSpans(spans, line.wall_s / 200);
  return {
    type: "line", name: engine.name, xAxisIndex: at, yAxisIndex: at, showSymbol: false, data: addStart(knownPoints(pane.points(line)), pane), ...(pane.mean ? { step: "start" } : {}),
    lineStyle: { color: colour, width: 1.6, type: engineDash(engine) }, itemStyle: { color: colour }, emphasis: { disabled: true },
    endLabel: { show: pane.shaded === true, formatter: () => truncate(engine.name), color: colour, fontFamily: FONT, fontSize: 12, fontWeight: 600, distance: 6, textBorderColor: theme.ground, textBorderWidth: 3 },
    ...(stalls.length > 0 ? { markArea: { silent: true, itemStyle: { color: colour, opacity: 0.16 },
      data: stalls.map(([start, end]) => [{ xAxis: start }, { xAxis: end }]) } } : {}),
  };
}

interface Lane {
  engine: Engine;
  kind: EventKind;
  marks: Mark[];
}

function eventLanes(trialLines: Drawn[]): Lane[] {
  const kinds = Object.keys(LANES) as EventKind[];
  return trialLines.flatMap(({ engine, line }) => kinds
    .map((kind) => ({ engine, kind, marks: line.marks.filter((mark) => mark.kind === kind) }))
    .filter((lane) => lane.marks.length > 0));
}

interface Api {
  value: (dimension: number) => number;
  coord: (point: [number, number]) => [number, number];
}

/** Returns the series of a row of events: as long as they took, or a tick. */
function laneSeries(lane: Lane, row: number, at: number, theme: Theme): object {
  const colour = engineColour(lane.engine, theme);
  return {
    type: "custom", name: `${lane.engine.name}, ${LANES[lane.kind]}`, xAxisIndex: at, yAxisIndex: at,
    encode: { x: [0, 2], y: 1 },
    data: lane.marks.map((mark) => ({ value: [mark.start_s, row, mark.end_s ?? mark.start_s], mark })),
    tooltip: { trigger: "item", formatter: (item: { data: { mark: Mark } }) => {
      const { mark } = item.data;
      const length = mark.end_s == null ? "" : ` for ${(mark.end_s - mark.start_s).toFixed(2)} s`;
      return tooltipContent(`${lane.engine.name}: ${LANES[lane.kind]}`, [[`at ${mark.start_s.toFixed(2)} s${length}`, ""], [mark.detail, ""]]);
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

function panesTable(trialLines: Drawn[], panes: Pane[]) {
  const rows = trialLines.flatMap(({ engine, line }) => [
    ...panes.map((pane) => {
      const points = pane.points(line);
      // Means are weighted by their time: the last slice may be shorter.
      const weighed = points.flatMap(([at, value], index) => value == null ? [] : [{ value, weight: pane.mean ? at - (points[index - 1]?.[0] ?? 0) : 1 }]);
      const values = weighed.map(({ value }) => value), weight = weighed.reduce((sum, one) => sum + one.weight, 0);
      const mean = weighed.reduce((sum, one) => sum + one.value * one.weight, 0) / (weight || 1);
      const cells = values.length === 0 ? [NONE, NONE, NONE] : [Math.min(...values), mean, Math.max(...values)].map(paneFormat(pane));
      return [engine.name, pane.title, ...cells, String(values.length)];
    }),
    ...line.mark_totals.map((total) => [engine.name, ...totalCells(total)]),
  ]);
  return { head: ["engine", "what", "least", "mean", "most", "points"], words: 2, rows };
}

/** Returns the totals of all events, including those that are not drawn. */
export function totalCells({ kind, count, sum_s, longest_s }: MarkTotal): string[] {
  const sum = sum_s == null ? NONE : `${formatSi(sum_s)} in all`;
  return [`${kind}, seconds`, NONE, sum, longest_s == null ? NONE : formatSi(longest_s), String(count)];
}
