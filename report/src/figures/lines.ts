// Lines with whiskers, in panels side by side: the chart of several figures.

import { engineColour, engineDash, markerSymbol, type Theme } from "../colour";
import type { Option } from "../echarts";
import { ZERO_ON_LOG_AXIS, formatGaps, layOutPanelsWithNotes, formatThreads, type Gap } from "../gaps";
import { axisOptions, axisLabelOptions, truncate, FONT, splitByEngine, nameWidth, roundUp, SMALL, axisStep, tooltipContent, panelTitle, tooltipOptions } from "../layout";
import type { Metric } from "../data";
import { describeTrials, metricRange, unique, type Engine } from "../model";
import type { Marks } from "../search";

export interface Point {
  x: number;
  y: number;
  range: [low: number, high: number] | null;
  /** The value of each trial, drawn as dots. */
  trials?: (number | null)[];
  /** The last line of the tooltip. */
  detail: string;
}

export interface Line {
  engine: Engine;
  points: Point[];
  /** The text after the engine's name, if an engine has several lines. */
  suffix?: string;
  dash?: "dashed" | "dotted";
  /** Whether a study published the points: they are hollow and have no line. */
  published?: boolean;
}

export interface LinePanel {
  title: string;
  lines: Line[];
  marks?: Marks;
  /** Engines without a mark. */
  gaps?: Gap[];
  /** The panel's own y axis, if the panels are of different figures. */
  y?: Axes["y"];
}

/** Sizes of panels: of a figure of its own, or of one of several on the first screen. */
const SIZES = {
  figure: { height: 230, least: 230, most: 2 },
  small: { height: 82, least: 150, most: 3, bottom: 38, top: 36 },
};

export interface Axes {
  x: { name: string; type: "category" | "log" | "value"; format: (value: number) => string; values?: number[] };
  y: { name: string; type: "log" | "value"; format: (value: number) => string };
}

export function lineChart(all: LinePanel[], axes: Axes, width: number, theme: Theme, size: keyof typeof SIZES = "figure"): { height: number; option: Option } {
  const list = all.map((panel) => ((panel.y ?? axes.y).type === "log" ? zerosToGaps(panel) : panel));
  const { small, each } = splitByEngine(list);
  const names = list.flatMap((panel) => panel.lines.map((line) => lineName(line)));
  const space = small ? SMALL : { ...SIZES[size], left: 58, right: nameWidth(names) + 7 };
  const panelAxis = (panel: LinePanel) => panel.y ?? axes.y;
  const layout = layOutPanelsWithNotes(each.map(({ panel }) => formatGaps(panel.gaps ?? [], (places) => formatPlaces(axes.x, places))), width, space, theme);
  const categories = axes.x.values ?? [];
  const category = axes.x.type === "category";
  const option: Option = {
    title: [...each.map(({ panel }, at) => panelTitle(panel.title, layout.panels[at]!, space.left, theme)), ...layout.titles],
    grid: layout.panels.map((panel) => ({ ...panel, containLabel: false })),
    xAxis: each.map((_, at) => axisOptions(theme, at, {
      type: axes.x.type,
      ...(category ? { data: categories.map(String), boundaryGap: true } : { scale: true }),
      ...(small ? {} : { name: axes.x.name, nameGap: size === "small" ? 20 : 26 }),
      splitLine: { show: false },
      axisLabel: axisLabelOptions(theme, (value) => axes.x.format(Number(value))),
    })),
    yAxis: each.map(({ panel, whole }, at) => axisOptions(theme, at, {
      type: panelAxis(panel).type,
      axisLine: { show: false },
      splitNumber: size === "small" || small ? 3 : 4,
      ...(panelAxis(panel).type === "log" ? { min: axisFloor(whole) } : {}),
      ...(panel.marks?.bound ? { max: (range: { max: number }) => Math.max(range.max, panel.marks?.bound?.y ?? 0) } : {}),
      ...(small ? axisEnd(whole, panelAxis(panel).type) : {}),
      axisLabel: axisLabelOptions(theme, panelAxis(panel).format),
    })),
    tooltip: tooltipOptions(theme, { trigger: "item" }),
    series: each.flatMap(({ panel }, at) => [
      ...panel.lines.flatMap((line) => lineSeries(line, at, { ...axes, y: panelAxis(panel) }, categories, theme, !small)),
      ...(panel.marks ? [marksSeries(panel.marks, at, categories, theme)] : []),
      ...(category ? [crossSeries(panel, at, categories, theme)] : []),
    ]),
  };
  return { height: layout.height, option };
}

/** Turns zeros, which have no place on a logarithmic axis, into gaps. */
function zerosToGaps(panel: LinePanel): LinePanel {
  const zeros = panel.lines.flatMap((line) => line.points.filter((point) => !(point.y > 0)).map((point): Gap => ({ engine: line.engine, at: point.x, why: ZERO_ON_LOG_AXIS })));
  if (zeros.length === 0) return panel;
  const lines = panel.lines.map((line) => ({ ...line, points: line.points.filter((point) => point.y > 0) }));
  return { ...panel, lines: lines.filter((line) => line.points.length > 0), gaps: [...(panel.gaps ?? []), ...zeros] };
}

/** Returns `2, 4 threads` or `offered rate 2.00 k`. */
function formatPlaces({ name, format }: Axes["x"], places: number[]): string {
  return name === "threads" ? formatThreads(places) : `${name.split(",")[0]} ${places.map(format).join(", ")}`;
}

/** Returns the series of crosses on the axis: one per gap, side by side at the same place. */
function crossSeries(panel: LinePanel, at: number, categories: number[], theme: Theme): object {
  const gaps = (panel.gaps ?? []).filter((gap) => gap.at != null && categories.includes(gap.at));
  const rankAtPlace = gaps.map((gap, index) => gaps.slice(0, index).filter((other) => other.at === gap.at).length);
  const countAtPlace = gaps.map((gap) => gaps.filter((other) => other.at === gap.at).length);
  return {
    type: "custom", silent: true, xAxisIndex: at, yAxisIndex: at, z: 4, encode: { x: 0 },
    data: gaps.map((gap) => [categories.indexOf(gap.at ?? 0)]),
    renderItem: ({ dataIndex, coordSys }: { dataIndex: number; coordSys: { y: number; height: number } }, api: Api) => {
      const gap = gaps[dataIndex];
      if (!gap) return null;
      const [middle] = api.coord([api.value(0), 1]), offset = ((rankAtPlace[dataIndex] ?? 0) - ((countAtPlace[dataIndex] ?? 1) - 1) / 2) * 12;
      const x = middle + offset, y = coordSys.y + coordSys.height, style = { stroke: engineColour(gap.engine, theme), lineWidth: 2 };
      const line = (up: number) => ({ type: "line", shape: { x1: x - 4, x2: x + 4, y1: y - 4 * up, y2: y + 4 * up }, style });
      return { type: "group", children: [line(1), line(-1)] };
    },
  };
}

/** Returns a metric as a point of a line. */
export const metricPoint = (x: number, metric: Metric, value: number): Point =>
  ({ x, y: value, range: metricRange(metric), trials: metric.per_trial, detail: describeTrials(metric) });

/** Returns all places on the axis, ascending. They are equidistant categories: a sweep's points are chosen by
 * factors. */
export const axisValues = (list: LinePanel[]): number[] =>
  unique(list.flatMap((panel) => panel.lines.flatMap((line) => line.points.map((point) => point.x)))).sort((a, b) => a - b);

/** Returns the power of ten below all points. */
function axisFloor(panel: LinePanel): number {
  const points = panel.lines.flatMap((line) => line.points.map((point) => point.range?.[0] || point.y));
  const lows = [...points, panel.marks?.bound?.y ?? 0].filter((value) => value > 0);
  return 10 ** Math.floor(Math.log10(Math.min(...lows, 1e15)));
}

/** Returns the end of the axis above all points, and its step, for charts with the same axes. */
function axisEnd(panel: LinePanel, type: Axes["y"]["type"]): { max: number; interval?: number } {
  const points = panel.lines.flatMap((line) => line.points.flatMap((point) => [point.y, point.range?.[1] ?? 0, ...(point.trials ?? []).map((value) => value ?? 0)]));
  const maximum = Math.max(1e-12, panel.marks?.bound?.y ?? 0, ...points);
  if (type === "log") return { max: 10 ** Math.ceil(Math.log10(maximum)) };
  const max = roundUp(maximum);
  return { max, interval: axisStep(max) };
}

/** Returns the series of a search's marks: the target as a line, the edge as an area. */
function marksSeries({ bound, edge }: Marks, at: number, categories: number[], theme: Theme): object {
  const nearestCategory = (x: number) => categories.reduce((best, value) => Math.abs(Math.log(value / x)) < Math.abs(Math.log(best / x)) ? value : best, categories[0] ?? x);
  const colour = theme.faint;
  return {
    type: "line",
    silent: true,
    xAxisIndex: at,
    yAxisIndex: at,
    data: [],
    markLine: {
      silent: true,
      symbol: "none",
      lineStyle: { color: colour, width: 1.5, type: "dashed" },
      label: { formatter: bound?.text ?? "", position: "insideStartTop", color: colour, fontFamily: FONT },
      data: bound ? [{ yAxis: bound.y }] : [],
    },
    markArea: {
      silent: true,
      itemStyle: { color: colour, opacity: 0.18 },
      data: edge ? [[{ xAxis: String(nearestCategory(edge[0])) }, { xAxis: String(nearestCategory(edge[1])) }]] : [],
    },
  };
}

const lineName = (line: Line): string => line.engine.name + (line.suffix ?? "");

function lineSeries(line: Line, at: number, axes: Axes, categories: number[], theme: Theme, isLabelled: boolean): object[] {
  const colour = engineColour(line.engine, theme);
  const category = axes.x.type === "category";
  const position = (point: Point) => (category ? categories.indexOf(point.x) : point.x);
  const data = line.points.map((point) => ({ value: [position(point), point.y], point }));
  const seriesOptions = {
    type: "line",
    name: lineName(line),
    xAxisIndex: at,
    yAxisIndex: at,
    data,
    symbol: line.published ? "diamond" : line.engine.loadGenerator ? "none" : markerSymbol(line.engine),
    symbolSize: line.published ? 12 : 8,
    showAllSymbol: true,
    itemStyle: line.published ? { color: theme.ground, borderColor: colour, borderWidth: 1.8 } : { color: colour },
    lineStyle: { color: colour, width: line.published ? 0 : 2, type: line.dash ?? engineDash(line.engine) },
    emphasis: { disabled: true },
    endLabel: {
      show: isLabelled,
      formatter: () => truncate(lineName(line)),
      color: colour,
      fontFamily: FONT,
      fontSize: 12,
      fontWeight: 600,
      // Leaves room for the dots of trials and the whisker.
      distance: line.points.at(-1)?.range ? 15 : 8,
      // A border keeps the label legible on other lines.
      textBorderColor: theme.ground,
      textBorderWidth: 3,
    },
    z: line.engine.loadGenerator ? 1 : 3,
    tooltip: {
      formatter: (item: { data: { point: Point } }) => {
        const { point } = item.data;
        const range: [string, string][] = point.range ? [["range", `${axes.y.format(point.range[0])} to ${axes.y.format(point.range[1])}`]] : [];
        return tooltipContent(`${lineName(line)}, ${axes.x.name} ${axes.x.format(point.x)}`, [
          [axes.y.name, axes.y.format(point.y), colour], ...range, ["", point.detail],
        ]);
      },
    },
  };
  return [seriesOptions, whiskerSeries(line, at, position, colour), dotSeries(line, at, position, colour)];
}

/** Returns the series of trials: dots next to their median. */
function dotSeries(line: Line, at: number, position: (point: Point) => number, colour: string): object {
  // A single trial is the point itself.
  const several = line.points.filter((point) => (point.trials ?? []).filter((value) => value != null).length > 1);
  const data = several.flatMap((point) => (point.trials ?? []).flatMap((value) => (value == null ? [] : [[position(point), value]])));
  return {
    type: "scatter", silent: true, xAxisIndex: at, yAxisIndex: at, data, symbol: "circle", symbolSize: 4.5, symbolOffset: [7, 0], z: 2,
    itemStyle: { color: colour, opacity: 0.55 }, tooltip: { show: false },
  };
}

interface Api {
  value: (dimension: number) => number;
  coord: (point: [number, number]) => [number, number];
}

/** Returns the series of whiskers: the interval, or the smallest and the largest trial. */
function whiskerSeries(line: Line, at: number, position: (point: Point) => number, colour: string): object {
  const data = line.points
    .filter((point) => point.range)
    .map((point) => [position(point), point.range?.[0], point.range?.[1]]);
  return {
    type: "custom",
    silent: true,
    xAxisIndex: at,
    yAxisIndex: at,
    encode: { x: 0, y: [1, 2] },
    data,
    z: 2,
    renderItem: (_: unknown, api: Api) => {
      const [x, low] = api.coord([api.value(0), api.value(1)]);
      const [, high] = api.coord([api.value(0), api.value(2)]);
      const stroke = { stroke: colour, lineWidth: 1.5, fill: "none" };
      const capLine = (y: number) => ({ type: "line", shape: { x1: x - 4, x2: x + 4, y1: y, y2: y }, style: stroke });
      return { type: "group", children: [
        { type: "line", shape: { x1: x, x2: x, y1: low, y2: high }, style: stroke }, capLine(low), capLine(high),
      ] };
    },
  };
}
