// Figure 3: latency by percentile. The line stops where fewer than 10 samples stand behind it.

import type { Curve } from "../data";
import { colourOf, dashOf, markerOf, type Theme } from "../colour";
import { better, control, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { duration, grouped, NONE, percentile } from "../format";
import { axis, axisLabel, cut, FONT, nameWidth, panels, tip, title, tooltip } from "../layout";
import type { Engine } from "../model";
import type { View } from "../view";
import { atThreads, threadsControl } from "./choices";

export const percentiles: Figure = { number: 3, name: "percentiles", draw };

interface Drawn {
  engine: Engine;
  curve: Curve;
}

/** What a percentile is called and how many nines it has. */
const NAMED = [["p50", 0.301], ["p90", 1], ["p99", 2], ["p99.9", 3], ["p99.99", 4], ["p99.999", 5]] as const;

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "3");
  const cases = atThreads(view, threads);
  const curvesOf = (kind: string, op: string): Drawn[] => cases.flatMap((one) =>
    view.model.data.curves
      .filter((curve) => curve.group === one.index && curve.phase === view.work.phase && curve.kind === kind && (curve.op ?? "") === op)
      .map((curve) => ({ engine: one.engine, curve })));
  const all = curvesOf("service", "");
  if (all.every((drawn) => drawn.engine.harness || drawn.curve.points.length === 0)) return null;
  const ops = [...new Set(view.model.data.curves.filter((curve) => curve.phase === view.work.phase).flatMap((curve) => curve.op ?? []))];
  const op = control(view, "3.op", "operation",
    [{ value: "", label: "all" }, ...ops.map((name) => ({ value: name, label: name }))], "");
  const service = curvesOf("service", op.value), response = curvesOf("response", op.value);
  const list = view.work.roles.flatMap((role) =>
    ([["service", service], ["response", response]] as const).map(([kind, drawn]) => ({
      title: response.some((one) => one.curve.role === role) ? `${role}, ${kind} time` : `${role}, time of an operation`,
      drawn: drawn.filter((one) => one.curve.role === role && one.curve.points.length > 0),
    }))).filter((panel) => panel.drawn.some((one) => !one.engine.harness));
  if (list.length === 0) return null;
  return {
    title: "Latency by percentile",
    note: `Time of an operation, ${better("lower")}; all trials' samples together. A line ends where fewer than 10 samples are slower; grey is the harness's own floor.`,
    controls: [threads, op],
    chart: (width, theme) => chart(list, width, theme),
    table: () => tableOf(list.flatMap((panel) => panel.drawn)),
  };
}

function tableOf(drawn: Drawn[]) {
  return {
    head: ["engine", "role", "kind", "samples", ...NAMED.map(([name]) => name)],
    words: 3,
    rows: drawn.map(({ engine, curve }) => [
      engine.name, curve.role, curve.kind, grouped(curve.n),
      ...NAMED.map(([, nines]) => {
        const point = curve.points.find(([at]) => Math.abs(at - nines) < 1e-3);
        return point ? duration(point[1]) : NONE;
      }),
    ]),
  };
}

function chart(list: { title: string; drawn: Drawn[] }[], width: number, theme: Theme): { height: number; option: Option } {
  const names = list.flatMap((panel) => panel.drawn.map((one) => one.engine.name));
  const space = { height: 250, least: 260, left: 58, right: nameWidth(names), most: 2 };
  const place = panels(list.length, width, space);
  const most = Math.max(1, ...list.flatMap((panel) => panel.drawn.map((one) => one.curve.points.at(-1)?.[0] ?? 0)));
  const option: Option = {
    title: list.map((panel, at) => title(panel.title, place.panels[at]!, space.left, theme)),
    grid: place.panels,
    xAxis: list.map((_, at) => axis(theme, at, {
      type: "value", min: 0, max: Math.ceil(most), interval: 1, splitLine: { show: true, lineStyle: { color: theme.grid } },
      name: "share of operations that are faster", nameGap: 26,
      axisLabel: axisLabel(theme, (nines) => (nines === 0 ? "0" : `${percentile(nines).slice(1)}%`)),
    })),
    yAxis: list.map((_, at) => axis(theme, at, {
      type: "log", axisLine: { show: false }, axisLabel: axisLabel(theme, duration),
    })),
    tooltip: tooltip(theme, { trigger: "axis", axisPointer: { type: "line", lineStyle: { color: theme.line } },
      formatter: (items: { seriesName: string; color: string; value: [number, number] }[]) =>
        tip(percentile(items[0]?.value[0] ?? 0), items.map((item) => [item.seriesName, duration(item.value[1]), item.color])) }),
    series: list.flatMap((panel, at) => panel.drawn.map((one) => series(one, at, theme))),
  };
  return { height: place.height, option };
}

function series({ engine, curve }: Drawn, at: number, theme: Theme): object {
  const colour = colourOf(engine, theme);
  const marked = (nines: number) => NAMED.some(([, named]) => Math.abs(nines - named) < 1e-3);
  return {
    type: "line", name: engine.name, xAxisIndex: at, yAxisIndex: at,
    data: curve.points.map(([nines, ns]) => ({ value: [nines, Math.max(1, ns)], symbolSize: marked(nines) && !engine.harness ? 7 : 0.01 })),
    symbol: engine.harness ? "none" : markerOf(engine), showAllSymbol: true,
    step: false, itemStyle: { color: colour }, emphasis: { disabled: true },
    lineStyle: { color: colour, width: engine.harness ? 1.5 : 2, type: dashOf(engine, theme) },
    endLabel: { show: true, formatter: () => cut(engine.name), color: colour, fontFamily: FONT, fontSize: 12, fontWeight: 600, distance: 6 },
    labelLayout: { moveOverlap: "shiftY" },
    z: engine.harness ? 1 : 3,
  };
}
