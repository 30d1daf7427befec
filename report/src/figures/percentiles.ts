// Latency by percentile. The line stops where fewer than 10 samples stand behind it.

import type { Clock, Curve } from "../data";
import { colourOf, dashOf, markerOf, type Theme } from "../colour";
import { control, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { duration, grouped, NONE, percentile } from "../format";
import { hiccupNote } from "../hiccups";
import { axis, axisLabel, cut, FONT, multiples, nameWidth, panels, SMALL, tip, title, tooltip } from "../layout";
import type { Engine } from "../model";
import type { View } from "../view";
import { atThreads, threadsControl } from "./choices";

export const percentiles: Figure = { name: "percentiles", drive: true, draw };

interface Drawn {
  engine: Engine;
  curve: Curve;
}

const CLOCKS: Clock[] = ["service", "response", "submit", "completion"];
const TIMES: Record<Clock, string> = {
  service: "service time", response: "response time",
  submit: "submission latency (slat)", completion: "completion latency (clat)",
};

/** What a percentile is called and how many nines it has. */
const NAMED = [["p50", 0.301], ["p90", 1], ["p99", 2], ["p99.9", 3], ["p99.99", 4], ["p99.999", 5]] as const;

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "percentiles");
  const cases = atThreads(view, threads);
  const curvesOf = (kind: string, op: string): Drawn[] => cases.flatMap((one) =>
    view.model.data.curves
      .filter((curve) => curve.group === one.index && curve.phase === view.work.phase && curve.kind === kind && (curve.op ?? "") === op)
      .map((curve) => ({ engine: one.engine, curve })));
  const all = curvesOf("service", "");
  if (all.every((drawn) => drawn.engine.loadGenerator || drawn.curve.points.length === 0)) return null;
  const ops = [...new Set(view.model.data.curves.filter((curve) => curve.phase === view.work.phase).flatMap((curve) => curve.op ?? []))];
  const op = control(view, "percentiles.op", "operation",
    [{ value: "", label: "all" }, ...ops.map((name) => ({ value: name, label: name }))], "");
  const clocks = CLOCKS.map((kind) => [kind, curvesOf(kind, op.value)] as const);
  const several = (role: string) => clocks.filter(([, drawn]) => drawn.some((one) => one.curve.role === role)).length > 1;
  const list = view.work.roles.flatMap((role) =>
    clocks.map(([kind, drawn]) => ({
      title: several(role) ? `${role}, ${TIMES[kind]}` : `${role}, time of ${view.work.load ? "a call (a batch)" : "an operation"}`,
      short: several(role) ? `${role}, ${kind}` : role,
      lines: drawn.filter((one) => one.curve.role === role && one.curve.points.length > 0),
    }))).filter((panel) => panel.lines.some((one) => !one.engine.loadGenerator));
  if (list.length === 0) return null;
  // A time that one engine alone has is in the table: a panel with one line compares nothing.
  const most = Math.max(...list.map((panel) => panel.lines.length));
  const worth = list.filter((panel) => panel.lines.length > 1 || most === 1);
  // Said once on a page.
  const isFirst = view.model.works[0]?.id === view.work.id;
  return {
    title: "Latency by percentile",
    note: `Lower is better; all trials' samples together. A line ends where fewer than 10 samples are slower. ${[
      floorNote(worth.flatMap((panel) => panel.lines)), isFirst ? hiccupNote(view.model.data.summary.hiccups) : ""].filter(Boolean).join(" ")}`,
    controls: [threads, op],
    chart: (width, theme) => chart(worth, width, theme),
    table: () => tableOf(list.flatMap((panel) => panel.lines)),
  };
}

/** The load generator's own latencies, in grey where they come near. */
function floorNote(drawn: Drawn[]): string {
  const floor = drawn.find((one) => one.engine.loadGenerator)?.curve.points;
  const at = (nines: number) => floor?.find(([other]) => Math.abs(other - nines) < 1e-3)?.[1];
  const said = NAMED.slice(0, 4).flatMap(([name, nines]) => { const ns = at(nines); return ns == null ? [] : [`${name} ${duration(ns)}`]; });
  return said.length > 0 ? `Grey, where it comes near: the load generator alone (${said.join(", ")}).` : "";
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

function chart(list: { title: string; short: string; lines: Drawn[] }[], width: number, theme: Theme): { height: number; option: Option } {
  const { small, each } = multiples(list);
  const names = list.flatMap((panel) => panel.lines.map((one) => one.engine.name));
  const space = small ? SMALL : { height: 250, least: 260, left: 58, right: nameWidth(names), most: 2 };
  const place = panels(each.length, width, space);
  // The load generator's line is far below and far longer: it is drawn as far as it comes near the engines.
  const points = list.flatMap((panel) => panel.lines.filter((one) => !one.engine.loadGenerator).flatMap((one) => one.curve.points));
  const most = Math.ceil(Math.max(1, ...points.map(([nines]) => nines)) - 0.05);
  const least = 10 ** (Math.floor(Math.log10(Math.max(1, Math.min(...points.filter(([nines]) => nines > 0.2).map(([, ns]) => ns))))) - 1);
  const highest = 10 ** Math.ceil(Math.log10(Math.max(10, ...points.map(([, ns]) => ns))));
  const option: Option = {
    title: each.map(({ panel }, at) => title(panel.title, place.panels[at]!, space.left, theme)),
    grid: place.panels,
    xAxis: each.map((_, at) => axis(theme, at, {
      type: "value", min: 0, max: most, interval: 1, splitLine: { show: true, lineStyle: { color: theme.grid } },
      ...(small ? {} : { name: "share of operations that are faster", nameGap: 26 }),
      axisLabel: axisLabel(theme, (nines) => (nines === 0 ? "0" : `${percentile(nines).slice(1)}%`)),
    })),
    yAxis: each.map((_, at) => axis(theme, at, {
      type: "log", min: Math.max(1, least), ...(small ? { max: highest, splitNumber: 3 } : {}), axisLine: { show: false }, axisLabel: axisLabel(theme, duration),
    })),
    tooltip: tooltip(theme, { trigger: "axis", axisPointer: { type: "line", lineStyle: { color: theme.line } },
      formatter: (items: { seriesName: string; color: string; value: [number, number] }[]) =>
        tip(percentile(items[0]?.value[0] ?? 0), items.map((item) => [item.seriesName, duration(item.value[1]), item.color])) }),
    series: each.flatMap(({ panel }, at) => panel.lines.flatMap((one) => series(one, at, theme, most, Math.max(1, least), !small))),
  };
  return { height: place.height, option };
}

function series({ engine, curve }: Drawn, at: number, theme: Theme, most: number, least: number, named: boolean): object[] {
  const seen = curve.points.filter(([nines, ns]) => nines <= most + 0.01 && ns >= least);
  if (seen.length === 0) return [];
  const colour = colourOf(engine, theme);
  const marked = (nines: number) => NAMED.some(([, named]) => Math.abs(nines - named) < 1e-3);
  return [{
    type: "line", name: engine.name, xAxisIndex: at, yAxisIndex: at,
    data: seen.map(([nines, ns]) => ({ value: [nines, Math.max(1, ns)], symbolSize: marked(nines) && !engine.loadGenerator ? 7 : 0.01 })),
    symbol: engine.loadGenerator ? "none" : markerOf(engine), showAllSymbol: true,
    step: false, itemStyle: { color: colour }, emphasis: { disabled: true },
    lineStyle: { color: colour, width: engine.loadGenerator ? 1.5 : 2, type: dashOf(engine, theme) },
    endLabel: { show: named, formatter: () => cut(engine.name), color: colour, fontFamily: FONT, fontSize: 12, fontWeight: 600, distance: 6 },
    z: engine.loadGenerator ? 1 : 3,
  }];
}
