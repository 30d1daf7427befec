// Lines over the time of a phase, a panel for each figure.

import { colourOf, dashOf, type Theme } from "../colour";
import type { Option } from "../echarts";
import { clock } from "../format";
import { axis, axisLabel, cut, FONT, multiples, nameWidth, panels, roundUp, SMALL, stepOf, tip, title, tooltip } from "../layout";
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
  const { small, each } = multiples(list);
  const space = small ? SMALL : { height: 170, least: 200, left: 58, right: nameWidth(list.flatMap((panel) => panel.lines.map((line) => line.engine.name))), bottom: 34, most: 3 };
  const place = panels(each.length, width, space);
  const all = list.flatMap((panel) => panel.lines.flatMap((line) => line.points));
  const end = Math.max(...all.map(([at]) => at));
  const least = 10 ** Math.floor(Math.log10(Math.max(1, Math.min(...all.map(([, value]) => value)))));
  const most = (panel: TimeLines): number => Math.max(1e-12, ...panel.lines.flatMap((line) => line.points.map(([, value]) => value)));
  const shared = (whole: TimeLines): object => {
    if (!small) return {};
    const max = values.log ? 10 ** Math.ceil(Math.log10(most(whole))) : roundUp(most(whole));
    return values.log ? { max } : { max, interval: stepOf(max) };
  };
  const option: Option = {
    title: each.map(({ panel }, at) => title(panel.title, place.panels[at]!, space.left, theme)),
    grid: place.panels,
    xAxis: each.map((_, at) => axis(theme, at, { type: "value", min: 0, max: Math.ceil(end * 100) / 100, splitNumber: small ? 2 : 4, splitLine: { show: false }, axisLabel: axisLabel(theme, clock, { showMaxLabel: false }) })),
    yAxis: each.map(({ whole }, at) => axis(theme, at, {
      ...(values.log ? { type: "log", min: least } : { type: "value", min: 0 }), ...shared(whole), splitNumber: small ? 2 : 4, axisLine: { show: false }, axisLabel: axisLabel(theme, values.format),
    })),
    tooltip: tooltip(theme, { trigger: "axis", axisPointer: { type: "line", lineStyle: { color: theme.line } },
      formatter: (items: { seriesName: string; color: string; value: [number, number] }[]) =>
        tip(clock(Number((items[0]?.value[0] ?? 0).toFixed(2))), items.map((item) => [item.seriesName, values.format(item.value[1]), item.color])) }),
    series: each.flatMap(({ panel }, at) => panel.lines.map(({ engine, points }) => ({
      type: "line", name: engine.name, xAxisIndex: at, yAxisIndex: at, data: points, showSymbol: points.length < 14, symbolSize: 4,
      lineStyle: { color: colourOf(engine, theme), width: 1.6, type: dashOf(engine) }, itemStyle: { color: colourOf(engine, theme) }, emphasis: { disabled: true },
      endLabel: { show: !small, formatter: () => cut(engine.name), color: colourOf(engine, theme), fontFamily: FONT, fontSize: 12, fontWeight: 600, distance: 6, textBorderColor: theme.ground, textBorderWidth: 3 },
    }))),
  };
  return { height: place.height, option };
}
