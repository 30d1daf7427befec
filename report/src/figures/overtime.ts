// Lines over the time of a phase, in a panel for each figure.

import { engineColour, engineDash, type Theme } from "../colour";
import type { Option } from "../echarts";
import { formatClock } from "../format";
import { axisOptions, axisLabelOptions, truncate, FONT, splitByEngine, nameWidth, layOutPanels, roundUp, SMALL, axisStep, tooltipContent, panelTitle, tooltipOptions } from "../layout";
import type { Engine } from "../model";

export interface TimeLines {
  title: string;
  lines: { engine: Engine; points: [seconds: number, value: number][] }[];
}

export interface Values {
  name: string;
  format: (value: number) => string;
  log: boolean;
}

export function timeChart(list: TimeLines[], values: Values, width: number, theme: Theme): { height: number; option: Option } {
  const { small, each } = splitByEngine(list);
  const space = small ? SMALL : { height: 170, least: 200, left: 58, right: nameWidth(list.flatMap((panel) => panel.lines.map((line) => line.engine.name))), bottom: 34, most: 3 };
  const layout = layOutPanels(each.length, width, space);
  const all = list.flatMap((panel) => panel.lines.flatMap((line) => line.points));
  const end = Math.max(...all.map(([at]) => at));
  const minimum = 10 ** Math.floor(Math.log10(Math.max(1, Math.min(...all.map(([, value]) => value)))));
  const panelMaximum = (panel: TimeLines): number => Math.max(1e-12, ...panel.lines.flatMap((line) => line.points.map(([, value]) => value)));
  const sharedAxis = (whole: TimeLines): object => {
    if (!small) return {};
    const max = values.log ? 10 ** Math.ceil(Math.log10(panelMaximum(whole))) : roundUp(panelMaximum(whole));
    return values.log ? { max } : { max, interval: axisStep(max) };
  };
  const option: Option = {
    title: each.map(({ panel }, at) => panelTitle(panel.title, layout.panels[at]!, space.left, theme)),
    grid: layout.panels,
    xAxis: each.map((_, at) => axisOptions(theme, at, { type: "value", min: 0, max: Math.ceil(end * 100) / 100, splitNumber: small ? 2 : 4, splitLine: { show: false }, axisLabel: axisLabelOptions(theme, formatClock, { showMaxLabel: false }) })),
    yAxis: each.map(({ whole }, at) => axisOptions(theme, at, {
      ...(values.log ? { type: "log", min: minimum } : { type: "value", min: 0 }), ...sharedAxis(whole), splitNumber: small ? 2 : 4, axisLine: { show: false }, axisLabel: axisLabelOptions(theme, values.format),
    })),
    tooltip: tooltipOptions(theme, { trigger: "axis", axisPointer: { type: "line", lineStyle: { color: theme.line } },
      formatter: (items: { seriesName: string; color: string; value: [number, number] }[]) =>
        tooltipContent(formatClock(Number((items[0]?.value[0] ?? 0).toFixed(2))), items.map((item) => [item.seriesName, values.format(item.value[1]), item.color])) }),
    series: each.flatMap(({ panel }, at) => panel.lines.map(({ engine, points }) => ({
      type: "line", name: engine.name, xAxisIndex: at, yAxisIndex: at, data: points, showSymbol: points.length < 14, symbolSize: 4,
      lineStyle: { color: engineColour(engine, theme), width: 1.6, type: engineDash(engine) }, itemStyle: { color: engineColour(engine, theme) }, emphasis: { disabled: true },
      endLabel: { show: !small, formatter: () => truncate(engine.name), color: engineColour(engine, theme), fontFamily: FONT, fontSize: 12, fontWeight: 600, distance: 6, textBorderColor: theme.ground, textBorderWidth: 3 },
    }))),
  };
  return { height: layout.height, option };
}
