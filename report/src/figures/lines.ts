// Lines with whiskers, one panel beside the other: what several figures are drawn with.

import { colourOf, dashOf, markerOf, type Theme } from "../colour";
import type { Option } from "../echarts";
import { NONE } from "../format";
import { BELOW, gapWords, panelsWithWords, threadWords, type Gap } from "../gaps";
import { axis, axisLabel, cut, FONT, multiples, nameWidth, roundUp, SMALL, stepOf, tip, title, tooltip } from "../layout";
import type { Metric } from "../data";
import { rangeOf, unique, type Engine } from "../model";
import type { Marks } from "../search";

export interface Point {
  x: number;
  y: number;
  range: [low: number, high: number] | null;
  /** What each trial gave: a dot each. */
  trials?: (number | null)[];
  /** What else a tooltip says. */
  detail: string;
}

export interface Line {
  engine: Engine;
  points: Point[];
  /** Beside the engine's name where an engine has several lines. */
  suffix?: string;
  dash?: "dashed" | "dotted";
  /** Points that a study published: hollow, and no line. */
  published?: boolean;
}

export interface LinePanel {
  title: string;
  lines: Line[];
  marks?: Marks;
  /** Engines without a mark. */
  gaps?: Gap[];
  /** Where panels beside each other are of different figures. */
  y?: Axes["y"];
}

/** How large panels are: as a figure of its own, or as one of several on the first screen. */
const SIZES = {
  figure: { height: 230, least: 230, most: 2 },
  small: { height: 82, least: 150, most: 3, bottom: 38, top: 36 },
};

export interface Axes {
  x: { name: string; type: "category" | "log" | "value"; format: (value: number) => string; values?: number[] };
  y: { name: string; type: "log" | "value"; format: (value: number) => string };
}

export function lineChart(all: LinePanel[], axes: Axes, width: number, theme: Theme, size: keyof typeof SIZES = "figure"): { height: number; option: Option } {
  const list = all.map((panel) => ((panel.y ?? axes.y).type === "log" ? withoutZeros(panel) : panel));
  const { small, each } = multiples(list);
  const names = list.flatMap((panel) => panel.lines.map((line) => nameOf(line)));
  const space = small ? SMALL : { ...SIZES[size], left: 58, right: nameWidth(names) + 7 };
  const yOf = (panel: LinePanel) => panel.y ?? axes.y;
  const place = panelsWithWords(each.map(({ panel }) => gapWords(panel.gaps ?? [], (places) => placeWords(axes.x, places))), width, space, theme);
  const categories = axes.x.values ?? [];
  const category = axes.x.type === "category";
  const option: Option = {
    title: [...each.map(({ panel }, at) => title(panel.title, place.panels[at]!, space.left, theme)), ...place.titles],
    grid: place.panels.map((panel) => ({ ...panel, containLabel: false })),
    xAxis: each.map((_, at) => axis(theme, at, {
      type: axes.x.type,
      ...(category ? { data: categories.map(String), boundaryGap: true } : { scale: true }),
      ...(small ? {} : { name: axes.x.name, nameGap: size === "small" ? 20 : 26 }),
      splitLine: { show: false },
      axisLabel: axisLabel(theme, (value) => axes.x.format(Number(value))),
    })),
    yAxis: each.map(({ panel, whole }, at) => axis(theme, at, {
      type: yOf(panel).type,
      axisLine: { show: false },
      splitNumber: size === "small" || small ? 3 : 4,
      ...(yOf(panel).type === "log" ? { min: floorOf(whole) } : {}),
      ...(panel.marks?.bound ? { max: (drawn: { max: number }) => Math.max(drawn.max, panel.marks?.bound?.y ?? 0) } : {}),
      ...(small ? endOf(whole, yOf(panel).type) : {}),
      axisLabel: axisLabel(theme, yOf(panel).format),
    })),
    tooltip: tooltip(theme, { trigger: "item" }),
    series: each.flatMap(({ panel }, at) => [
      ...panel.lines.flatMap((line) => seriesOf(line, at, { ...axes, y: yOf(panel) }, categories, theme, !small)),
      ...(panel.marks ? [marksSeries(panel.marks, at, categories, theme)] : []),
      ...(category ? [crosses(panel, at, categories, theme)] : []),
    ]),
  };
  return { height: place.height, option };
}

/** Zeros have no place on a logarithmic axis: they are gaps. */
function withoutZeros(panel: LinePanel): LinePanel {
  const zeros = panel.lines.flatMap((line) => line.points.filter((point) => !(point.y > 0)).map((point): Gap => ({ engine: line.engine, at: point.x, why: BELOW })));
  if (zeros.length === 0) return panel;
  const lines = panel.lines.map((line) => ({ ...line, points: line.points.filter((point) => point.y > 0) }));
  return { ...panel, lines: lines.filter((line) => line.points.length > 0), gaps: [...(panel.gaps ?? []), ...zeros] };
}

/** `2, 4 threads`, `offered rate 2.00 k`. */
function placeWords({ name, format }: Axes["x"], places: number[]): string {
  return name === "threads" ? threadWords(places) : `${name.split(",")[0]} ${places.map(format).join(", ")}`;
}

/** A cross on the axis for each mark that an engine lacks there; beside each other where several do. */
function crosses(panel: LinePanel, at: number, categories: number[], theme: Theme): object {
  const gaps = (panel.gaps ?? []).filter((gap) => gap.at != null && categories.includes(gap.at));
  const before = gaps.map((gap, index) => gaps.slice(0, index).filter((other) => other.at === gap.at).length);
  const here = gaps.map((gap) => gaps.filter((other) => other.at === gap.at).length);
  return {
    type: "custom", silent: true, xAxisIndex: at, yAxisIndex: at, z: 4, encode: { x: 0 },
    data: gaps.map((gap) => [categories.indexOf(gap.at ?? 0)]),
    renderItem: ({ dataIndex, coordSys }: { dataIndex: number; coordSys: { y: number; height: number } }, api: Api) => {
      const gap = gaps[dataIndex];
      if (!gap) return null;
      const [middle] = api.coord([api.value(0), 1]), own = ((before[dataIndex] ?? 0) - ((here[dataIndex] ?? 1) - 1) / 2) * 12;
      const x = middle + own, y = coordSys.y + coordSys.height, style = { stroke: colourOf(gap.engine, theme), lineWidth: 2 };
      const line = (up: number) => ({ type: "line", shape: { x1: x - 4, x2: x + 4, y1: y - 4 * up, y2: y + 4 * up }, style });
      return { type: "group", children: [line(1), line(-1)] };
    },
  };
}

/** What a figure's trials gave, as a point of a line. */
export const pointOf = (x: number, metric: Metric, value: number): Point =>
  ({ x, y: value, range: rangeOf(metric), trials: metric.per_trial, detail: metric.n === 1 ? "1 trial" : `${metric.n} trials` });

/** All places along the axis, ascending: a sweep's points are chosen by factors, and stand apart
 * equally. */
export const valuesOf = (list: LinePanel[]): number[] =>
  unique(list.flatMap((panel) => panel.lines.flatMap((line) => line.points.map((point) => point.x)))).sort((a, b) => a - b);

/** The power of ten below all that is drawn. */
function floorOf(panel: LinePanel): number {
  const points = panel.lines.flatMap((line) => line.points.map((point) => point.range?.[0] || point.y));
  const lows = [...points, panel.marks?.bound?.y ?? 0].filter((value) => value > 0);
  return 10 ** Math.floor(Math.log10(Math.min(...lows, 1e15)));
}

/** What is above all that is drawn: where charts beside each other end alike, with even marks. */
function endOf(panel: LinePanel, type: Axes["y"]["type"]): { max: number; interval?: number } {
  const points = panel.lines.flatMap((line) => line.points.flatMap((point) => [point.y, point.range?.[1] ?? 0, ...(point.trials ?? []).map((value) => value ?? 0)]));
  const most = Math.max(1e-12, panel.marks?.bound?.y ?? 0, ...points);
  if (type === "log") return { max: 10 ** Math.ceil(Math.log10(most)) };
  const max = roundUp(most);
  return { max, interval: stepOf(max) };
}

/** The target as a line across, and where its edge lies. */
function marksSeries({ bound, edge }: Marks, at: number, categories: number[], theme: Theme): object {
  const nearest = (x: number) => categories.reduce((best, value) => Math.abs(Math.log(value / x)) < Math.abs(Math.log(best / x)) ? value : best, categories[0] ?? x);
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
      data: edge ? [[{ xAxis: String(nearest(edge[0])) }, { xAxis: String(nearest(edge[1])) }]] : [],
    },
  };
}

const nameOf = (line: Line): string => line.engine.name + (line.suffix ?? "");

function seriesOf(line: Line, at: number, axes: Axes, categories: number[], theme: Theme, named: boolean): object[] {
  const colour = colourOf(line.engine, theme);
  const category = axes.x.type === "category";
  const position = (point: Point) => (category ? categories.indexOf(point.x) : point.x);
  const data = line.points.map((point) => ({ value: [position(point), point.y], point }));
  const drawn = {
    type: "line",
    name: nameOf(line),
    xAxisIndex: at,
    yAxisIndex: at,
    data,
    symbol: line.published ? "diamond" : line.engine.loadGenerator ? "none" : markerOf(line.engine),
    symbolSize: line.published ? 12 : 8,
    showAllSymbol: true,
    itemStyle: line.published ? { color: theme.ground, borderColor: colour, borderWidth: 1.8 } : { color: colour },
    lineStyle: { color: colour, width: line.published ? 0 : 2, type: line.dash ?? dashOf(line.engine) },
    emphasis: { disabled: true },
    endLabel: {
      show: named,
      formatter: () => cut(nameOf(line)),
      color: colour,
      fontFamily: FONT,
      fontSize: 12,
      fontWeight: 600,
      // Past the dots of its trials, and their whisker's ends.
      distance: line.points.at(-1)?.range ? 15 : 8,
      // Legible where it lies on a line that goes further.
      textBorderColor: theme.ground,
      textBorderWidth: 3,
    },
    z: line.engine.loadGenerator ? 1 : 3,
    tooltip: {
      formatter: (item: { data: { point: Point } }) => {
        const { point } = item.data;
        const range = line.published ? NONE : point.range ? `${axes.y.format(point.range[0])} to ${axes.y.format(point.range[1])}` : "one trial";
        return tip(`${nameOf(line)}, ${axes.x.name} ${axes.x.format(point.x)}`, [
          [axes.y.name, axes.y.format(point.y), colour], ["range", range], ["", point.detail],
        ]);
      },
    },
  };
  return [drawn, whiskers(line, at, position, colour), dots(line, at, position, colour)];
}

/** Each trial by itself, a little beside its median. */
function dots(line: Line, at: number, position: (point: Point) => number, colour: string): object {
  // One trial is the point itself.
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

/** From the smallest to the largest trial, or the interval. */
function whiskers(line: Line, at: number, position: (point: Point) => number, colour: string): object {
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
      const across = (y: number) => ({ type: "line", shape: { x1: x - 4, x2: x + 4, y1: y, y2: y }, style: stroke });
      return { type: "group", children: [
        { type: "line", shape: { x1: x, x2: x, y1: low, y2: high }, style: stroke }, across(low), across(high),
      ] };
    },
  };
}
