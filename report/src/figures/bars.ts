// Bars from the left, one a engine, in panels beside each other: what costs are drawn with.

import type { Combine } from "../data";
import { colourOf, pale, type Theme } from "../colour";
import type { Option } from "../echarts";
import { NONE } from "../format";
import type { Gap } from "../gaps";
import { axis, axisLabel, cut, FONT, panels, tip, title, tooltip } from "../layout";
import type { Engine } from "../model";
import { wrapped } from "../save";

/** So many letters of a name stand before a bar: a name with its class of durability. */
export const NAME_MAX = 22;

/** A bar of one or two parts that add up. */
export interface Bar {
  engine: Engine;
  parts: { name: string; value: number }[];
  range: [low: number, high: number] | null;
  /** How its trials became one. */
  combine: Combine;
  /** Behind its value. */
  word?: string;
}

export interface BarPanel {
  title: string;
  bars: Bar[];
  /** In the order of the other figures, those without a bar, too; absent: those with bars. */
  engines?: Engine[];
  /** Engines without a bar. */
  gaps?: Gap[];
  format: (value: number) => string;
  /** Bytes have marks at powers of two. */
  binary?: boolean;
  /** Where its axis ends, for panels that are read beside each other. */
  end?: number;
}

/** What a figure over trials is called. */
const COMBINED: Record<Combine, string> = {
  median: "median", maximum: "maximum", sum: "sum", mean: "mean", merged_histograms: "merged",
};

/** A distance between an axis's marks that is a whole number of KiB, MiB... */
export function binaryStep(most: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, most) / 3)));
}

export function binaryScale(most: number): { interval: number; max: number } {
  const interval = binaryStep(most);
  return { interval, max: Math.max(1, Math.ceil(most / interval)) * interval };
}

export function barChart(list: BarPanel[], width: number, theme: Theme): { height: number; option: Option } {
  const engines = [...new Set(list.flatMap((panel) => [...(panel.engines ?? []), ...panel.bars.map((bar) => bar.engine)]))];
  const longest = Math.max(4, ...engines.map((engine) => cut(engine.name, NAME_MAX).length));
  const words = Math.max(0, ...list.flatMap((panel) => panel.bars.map((bar) => (bar.word ?? "").length)));
  const space = { height: engines.length * 30 + 6, least: 150, left: longest * 6.8 + 14, right: 74 + words * 6.4, top: 34, bottom: 30, most: 3 };
  const place = panels(list.length, width, space);
  const option: Option = {
    title: list.map((panel, at) => title(panel.title, place.panels[at]!, space.left, theme)),
    grid: place.panels,
    xAxis: list.map((panel, at) => axis(theme, at, {
      type: "value", min: 0, splitNumber: 2, axisLine: { show: false }, axisLabel: axisLabel(theme, panel.format),
      ...(panel.binary ? binaryScale(Math.max(...panel.bars.map(reach))) : {}),
      ...(panel.end ? { max: panel.end } : {}),
    })),
    yAxis: list.map((_, at) => axis(theme, at, {
      type: "category", inverse: true, splitLine: { show: false }, data: engines.map((_, index) => String(index)),
      axisLabel: { ...axisLabel(theme, (index) => cut(engines[Number(index)]?.name ?? "", NAME_MAX)), color: theme.text, fontSize: 12, hideOverlap: false, interval: 0 },
    })),
    tooltip: tooltip(theme, { trigger: "item" }),
    series: list.flatMap((panel, at) => [...seriesOf(panel, at, engines, place.panels[at]!.width + space.right, theme), whiskers(panel, at, engines, theme)]),
  };
  return { height: place.height, option };
}

const labelOf = (bar: Bar, format: BarPanel["format"]): string =>
  format(sum(bar)) + (bar.word ? `, ${bar.word}` : "");

/** Lines of a reason that have room in the place of a bar. */
const REASON_LINES = 2;

/** Why there is no bar, as wide as there is room. */
function reasonOf(panel: BarPanel, engine: Engine | undefined, width: number): string {
  const why = panel.gaps?.find((gap) => gap.engine === engine)?.why ?? "not known";
  const letters = Math.floor((width - 12) / 6.4), lines = wrapped(`${NONE} ${why}`, letters);
  return lines.length <= REASON_LINES ? lines.join("\n") : `${lines.slice(0, REASON_LINES).join("\n")}…`;
}

/** As far as it is drawn, with its whisker. */
export const reach = (bar: Bar): number => Math.max(sum(bar), bar.range?.[1] ?? 0);

const sum = (bar: Bar): number => bar.parts.reduce((sum, part) => sum + part.value, 0);

function seriesOf(panel: BarPanel, at: number, engines: Engine[], room: number, theme: Theme): object[] {
  const parts = Math.max(0, ...panel.bars.map((bar) => bar.parts.length));
  return Array.from({ length: parts }, (_, order) => ({
    type: "bar", stack: `panel ${at}`, xAxisIndex: at, yAxisIndex: at, barWidth: 16, emphasis: { disabled: true },
    data: engines.map((engine) => {
      const bar = panel.bars.find((bar) => bar.engine === engine);
      return { value: bar?.parts[order]?.value ?? 0, bar, ...(bar ? {} : { label: { color: theme.faint, fontSize: 11, lineHeight: 13 } }), itemStyle: { color: order === 0 ? colourOf(engine, theme) : pale(colourOf(engine, theme), theme) } };
    }),
    label: order === parts - 1 ? {
      show: true, position: "right", distance: 6, color: theme.text, fontFamily: FONT, fontSize: 12,
      // Behind its whisker, where it has one.
      formatter: ({ data: { bar }, dataIndex }: { data: { bar?: Bar }; dataIndex: number }) =>
        (!bar ? reasonOf(panel, engines[dataIndex], room) : bar.range ? "" : labelOf(bar, panel.format)),
    } : { show: false },
    tooltip: { formatter: (item: { data: { bar?: Bar } }) => {
      const { bar } = item.data;
      if (!bar) return "";
      const colour = colourOf(bar.engine, theme);
      return tip(`${bar.engine.name}: ${panel.title}`, tipLines(bar, panel.format, colour));
    } },
  }));
}

interface Api {
  value: (dimension: number) => number;
  coord: (point: [number, number]) => [number, number];
}

/** From the least to the most of a bar's trials, and its value behind both. */
function whiskers(panel: BarPanel, at: number, engines: Engine[], theme: Theme): object {
  const bars = panel.bars.filter((bar) => bar.range);
  return {
    type: "custom", xAxisIndex: at, yAxisIndex: at, silent: true, z: 5,
    data: bars.map((bar) => [bar.range?.[0], bar.range?.[1], engines.indexOf(bar.engine), sum(bar)]),
    encode: { x: [0, 1], y: 2 },
    renderItem: ({ dataIndex }: { dataIndex: number }, api: Api) => {
      const [low, y] = api.coord([api.value(0), api.value(2)]);
      const [high] = api.coord([api.value(1), api.value(2)]);
      const [end] = api.coord([api.value(3), api.value(2)]);
      const line = (x1: number, y1: number, x2: number, y2: number): ((stroke: string, lineWidth: number) => object) =>
        (stroke, lineWidth) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth } });
      // Seen on a dark bar, too: ink on a seam of the ground.
      const lines = [line(low, y, high, y), line(low, y - 4, low, y + 4), line(high, y - 4, high, y + 4)];
      const bar = bars[dataIndex], text = bar ? labelOf(bar, panel.format) : "";
      const style = { text, x: Math.max(high, end) + 6, y, fill: theme.text, font: `12px ${FONT}`, verticalAlign: "middle" };
      return { type: "group", children: [...lines.map((each) => each(theme.ground, 3.4)), ...lines.map((each) => each(theme.text, 1.2)), { type: "text", style }] };
    },
  };
}

/** What a bar says when it is pointed at. */
export function tipLines(
  bar: Bar, format: BarPanel["format"], colour: string,
): [word: string, value: string, colour?: string][] {
  const range = bar.range ? `${format(bar.range[0])} to ${format(bar.range[1])}` : "one trial";
  const single = bar.parts.length < 2 ? [] : bar.parts.map((part): [string, string] =>
    [part.name, format(part.value)]);
  return [[COMBINED[bar.combine], format(sum(bar)), colour], ...single, ["range", range]];
}
