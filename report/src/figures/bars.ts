// Horizontal bars, one per engine, in panels side by side: the chart of costs.

import type { Combine } from "../data";
import { engineColour, paleColour, type Theme } from "../colour";
import type { Option } from "../echarts";
import { NONE } from "../format";
import type { Gap } from "../gaps";
import { axisOptions, axisLabelOptions, truncate, axisStep, FONT, layOutPanels, tooltipContent, panelTitle, tooltipOptions } from "../layout";
import type { Engine } from "../model";
import { wrapText } from "../save";

/** The most letters of a name before a bar: an engine's name with its durability class. */
export const NAME_MAX = 22;

/** A bar of one or two parts that add up. */
export interface Bar {
  engine: Engine;
  parts: { name: string; value: number }[];
  range: [low: number, high: number] | null;
  /** How the trials were combined. */
  combine: Combine;
  /** A word after the value. */
  word?: string;
}

export interface BarPanel {
  title: string;
  bars: Bar[];
  /** The engines in the order of the other figures, including those without a bar; absent: those with bars. */
  engines?: Engine[];
  /** Engines without a bar. */
  gaps?: Gap[];
  format: (value: number) => string;
  /** Whether the axis has marks at powers of two, for bytes. */
  binary?: boolean;
  /** The end of the axis, for panels that are compared with each other. */
  end?: number;
}

/** Labels of the ways of combining trials. */
const COMBINED: Record<Combine, string> = {
  median: "median", maximum: "maximum", sum: "sum", mean: "mean", merged_histograms: "all trials merged",
};

/** Returns a step between an axis's marks that is a power of two. */
export function binaryStep(maximum: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, maximum) / 3)));
}

export function binaryScale(maximum: number): { interval: number; max: number } {
  const interval = binaryStep(maximum);
  return { interval, max: Math.max(1, Math.ceil(maximum / interval)) * interval };
}

export function barChart(list: BarPanel[], width: number, theme: Theme): { height: number; option: Option } {
  const engines = [...new Set(list.flatMap((panel) => [...(panel.engines ?? []), ...panel.bars.map((bar) => bar.engine)]))];
  const longest = Math.max(4, ...engines.map((engine) => truncate(engine.name, NAME_MAX).length));
  const words = Math.max(0, ...list.flatMap((panel) => panel.bars.map((bar) => (bar.word ?? "").length)));
  const space = { height: engines.length * 30 + 6, least: 150, left: longest * 6.8 + 14, right: 74 + words * 6.4, top: 34, bottom: 30, most: 3 };
  const layout = layOutPanels(list.length, width, space);
  const option: Option = {
    title: list.map((panel, at) => panelTitle(panel.title, layout.panels[at]!, space.left, theme)),
    grid: layout.panels,
    xAxis: list.map((panel, at) => axisOptions(theme, at, {
      type: "value", min: 0, splitNumber: 2, axisLine: { show: false }, axisLabel: axisLabelOptions(theme, panel.format),
      ...(panel.binary ? binaryScale(Math.max(...panel.bars.map(barReach))) : {}),
      ...(panel.end ? { max: panel.end, interval: axisStep(panel.end) } : {}),
    })),
    yAxis: list.map((_, at) => axisOptions(theme, at, {
      type: "category", inverse: true, splitLine: { show: false }, data: engines.map((_, index) => String(index)),
      axisLabel: { ...axisLabelOptions(theme, (index) => truncate(engines[Number(index)]?.name ?? "", NAME_MAX)), color: theme.text, fontSize: 12, hideOverlap: false, interval: 0 },
    })),
    tooltip: tooltipOptions(theme, { trigger: "item" }),
    series: list.flatMap((panel, at) => [...barSeries(panel, at, engines, layout.panels[at]!.width + space.right, theme), whiskerSeries(panel, at, engines, theme)]),
  };
  return { height: layout.height, option };
}

const barLabel = (bar: Bar, format: BarPanel["format"]): string =>
  format(barSum(bar)) + (bar.word ? `, ${bar.word}` : "");

/** The most lines of a reason in the place of a bar. */
const REASON_LINES = 2;

/** Returns why there is no bar, wrapped to the width. */
function gapReason(panel: BarPanel, engine: Engine | undefined, width: number): string {
  const reason = panel.gaps?.find((gap) => gap.engine === engine)?.why ?? "not known";
  const letters = Math.floor((width - 12) / 6.4), lines = wrapText(`${NONE} ${reason}`, letters);
  return lines.length <= REASON_LINES ? lines.join("\n") : `${lines.slice(0, REASON_LINES).join("\n")}…`;
}

/** Returns the end of a bar and its whisker. */
export const barReach = (bar: Bar): number => Math.max(barSum(bar), bar.range?.[1] ?? 0);

const barSum = (bar: Bar): number => bar.parts.reduce((sum, part) => sum + part.value, 0);

function barSeries(panel: BarPanel, at: number, engines: Engine[], room: number, theme: Theme): object[] {
  const parts = Math.max(0, ...panel.bars.map((bar) => bar.parts.length));
  return Array.from({ length: parts }, (_, order) => ({
    type: "bar", stack: `panel ${at}`, xAxisIndex: at, yAxisIndex: at, barWidth: 16, emphasis: { disabled: true },
    data: engines.map((engine) => {
      const bar = panel.bars.find((bar) => bar.engine === engine);
      return { value: bar?.parts[order]?.value ?? 0, bar, ...(bar ? {} : { label: { color: theme.faint, fontSize: 11, lineHeight: 13 } }), itemStyle: { color: order === 0 ? engineColour(engine, theme) : paleColour(engineColour(engine, theme), theme) } };
    }),
    label: order === parts - 1 ? {
      show: true, position: "right", distance: 6, color: theme.text, fontFamily: FONT, fontSize: 12,
      // A bar with a whisker has its label behind the whisker.
      formatter: ({ data: { bar }, dataIndex }: { data: { bar?: Bar }; dataIndex: number }) =>
        (!bar ? gapReason(panel, engines[dataIndex], room) : bar.range ? "" : barLabel(bar, panel.format)),
    } : { show: false },
    tooltip: { formatter: (item: { data: { bar?: Bar } }) => {
      const { bar } = item.data;
      if (!bar) return "";
      const colour = engineColour(bar.engine, theme);
      return tooltipContent(`${bar.engine.name}: ${panel.title}`, tooltipLines(bar, panel.format, colour));
    } },
  }));
}

interface Api {
  value: (dimension: number) => number;
  coord: (point: [number, number]) => [number, number];
}

/** Returns the series of whiskers, with the bars' values behind them. */
function whiskerSeries(panel: BarPanel, at: number, engines: Engine[], theme: Theme): object {
  const bars = panel.bars.filter((bar) => bar.range);
  return {
    type: "custom", xAxisIndex: at, yAxisIndex: at, silent: true, z: 5,
    data: bars.map((bar) => [bar.range?.[0], bar.range?.[1], engines.indexOf(bar.engine), barSum(bar)]),
    encode: { x: [0, 1], y: 2 },
    renderItem: ({ dataIndex }: { dataIndex: number }, api: Api) => {
      const [low, y] = api.coord([api.value(0), api.value(2)]);
      const [high] = api.coord([api.value(1), api.value(2)]);
      const [end] = api.coord([api.value(3), api.value(2)]);
      const line = (x1: number, y1: number, x2: number, y2: number): ((stroke: string, lineWidth: number) => object) =>
        (stroke, lineWidth) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth } });
      // A line of the text colour on a wider one of the background is visible on a dark bar.
      const lines = [line(low, y, high, y), line(low, y - 4, low, y + 4), line(high, y - 4, high, y + 4)];
      const bar = bars[dataIndex], text = bar ? barLabel(bar, panel.format) : "";
      const style = { text, x: Math.max(high, end) + 6, y, fill: theme.text, font: `12px ${FONT}`, verticalAlign: "middle" };
      return { type: "group", children: [...lines.map((each) => each(theme.ground, 3.4)), ...lines.map((each) => each(theme.text, 1.2)), { type: "text", style }] };
    },
  };
}

/** Returns the lines of a bar's tooltip. */
export function tooltipLines(
  bar: Bar, format: BarPanel["format"], colour: string,
): [word: string, value: string, colour?: string][] {
  const range: [string, string][] = bar.range ? [["range", `${format(bar.range[0])} to ${format(bar.range[1])}`]] : [];
  const single = bar.parts.length < 2 ? [] : bar.parts.map((part): [string, string] =>
    [part.name, format(part.value)]);
  return [[COMBINED[bar.combine], format(barSum(bar)), colour], ...single, ...range];
}
