// Latency by percentile. The line stops where fewer than 10 samples stand behind it.

import type { Clock, Curve } from "../data";
import { colourOf, dashOf, markerOf, type Theme } from "../colour";
import { control, paragraphs, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { duration, grouped, NONE, percentile } from "../format";
import { gapWords, lineGaps, panelsWithWords, type Gap } from "../gaps";
import { hiccupNote } from "../hiccups";
import { axis, axisLabel, cut, FONT, multiples, nameWidth, SMALL, tip, title, tooltip } from "../layout";
import { opsOf, roleOf, tailOf, unique, type Case, type Engine } from "../model";
import type { View } from "../view";
import { atThreads, threadsControl } from "./choices";

export const percentiles: Figure = { name: "percentiles", drive: true, draw };

interface Drawn {
  engine: Engine;
  curve: Curve;
}

interface Panel {
  title: string;
  short: string;
  lines: Drawn[];
  /** Engines without a line. */
  gaps?: Gap[];
}

const EACH = "each", ALL = "all";

/** Of more operations a panel each is too much. */
const OPS_MAX = 4;

const CLOCKS: Clock[] = ["service", "response", "submit", "completion"];
const TIMES: Record<Clock, string> = {
  service: "service time", response: "response time",
  submit: "submission latency (slat)", completion: "completion latency (clat)",
};

/** What a percentile is called and how many nines it has. */
const NAMED = [["p50", 0.301], ["p90", 1], ["p95", 1.301], ["p99", 2], ["p99.9", 3], ["p99.99", 4], ["p99.999", 5]] as const;
/** What is said of the load generator. */
const FLOOR: string[] = ["p50", "p90", "p99", "p99.9"];

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "percentiles");
  const cases = atThreads(view, threads);
  const { curves } = view.model.data;
  // An operation's own curve; of a role that does nothing else its only one.
  const ops = unique(view.work.roles.flatMap((role) => opsIn(cases, role)));
  const isOf = (one: Case, curve: Curve, op: string): boolean => {
    const row = roleOf(one, curve.role), single = (row?.ops.length ?? 0) < 2;
    return op === "" ? curve.op == null : single ? curve.op == null && row?.mix === op : curve.op === op;
  };
  const curvesOf = (role: string, kind: string, op: string): Drawn[] => cases.flatMap((one) => curves
    .filter((curve) => curve.group === one.index && curve.phase === view.work.phase && curve.role === role && curve.kind === kind && isOf(one, curve, op))
    .map((curve) => ({ engine: one.engine, curve })));
  const all = view.work.roles.flatMap((role) => curvesOf(role, "service", ""));
  if (all.every((drawn) => drawn.engine.loadGenerator || drawn.curve.points.length === 0)) return null;
  // Gets from a cache and updates that wait for a flush are not one distribution.
  const op = control(view, "percentiles.op", "operation", [
    { value: EACH, label: "each by itself" }, { value: ALL, label: "all together" }, ...ops.map((name) => ({ value: name, label: name }))], ops.length > OPS_MAX ? ALL : EACH);
  const list = view.work.roles.flatMap((role) => {
    const own = opsIn(cases, role), shown = op.value === ALL || own.length === 0 ? [""] : op.value === EACH ? own : own.filter((name) => name === op.value);
    return shown.flatMap((name) => panelsOf(view, cases, role, name, CLOCKS.map((kind) => [kind, curvesOf(role, kind, name)])));
  }).filter((panel) => panel.lines.some((one) => !one.engine.loadGenerator));
  if (list.length === 0) return null;
  // A time that one engine alone has is in the table: a panel with one line compares nothing.
  const most = Math.max(...list.map((panel) => panel.lines.length));
  const worth = list.filter((panel) => panel.lines.length > 1 || most === 1);
  // Said once on a page.
  const isFirst = view.model.works[0]?.id === view.work.id;
  return {
    title: "Latency by percentile",
    note: "Lower is better; all trials' samples together.",
    how: paragraphs(ops.length > 0 && op.value === EACH ? "Each operation by itself: gets from a cache and updates that wait for a flush are not one distribution." : "", "A line ends where fewer than 10 samples are slower.", floorNote(worth.flatMap((panel) => panel.lines)), isFirst ? hiccupNote(view.model.data.summary.hiccups) : ""),
    controls: ops.length > 0 ? [threads, op] : [threads],
    cases,
    chart: (width, theme) => chart(worth, width, theme),
    table: () => tableOf(list.flatMap((panel) => panel.lines)),
  };
}

/** The operations of a role, where any case has several; a case with one has that alone. */
function opsIn(cases: Case[], role: string): string[] {
  const several = opsOf(cases, role);
  return several.length === 0 ? [] : unique([...several, ...cases.flatMap((one) => { const row = roleOf(one, role); return row && row.ops.length < 2 ? [row.mix] : []; })]);
}

/** A panel for each clock that an operation has times of. */
function panelsOf(view: View, cases: Case[], role: string, op: string, clocks: [Clock, Drawn[]][]): Panel[] {
  const several = clocks.filter(([, drawn]) => drawn.length > 0).length > 1;
  const who = [role, ...(op ? [op] : [])].join(", ");
  return clocks.map(([kind, drawn]) => ({
    title: several ? `${who}, ${TIMES[kind]}` : `${who}, time of ${view.work.load ? "a call (a batch)" : "one operation"}`,
    short: several ? `${who}, ${kind}` : who,
    lines: drawn.filter((one) => one.curve.points.length > 0),
    gaps: lineGaps(view, cases, drawn.filter((one) => one.curve.points.length > 0).map((one) => one.engine), (one) => tailOf(one, role, "p50", op || null), "no times of this kind"),
  }));
}

/** The load generator's own latencies, in grey where they come near. */
function floorNote(drawn: Drawn[]): string {
  const floor = drawn.find((one) => one.engine.loadGenerator)?.curve.points;
  const at = (nines: number) => floor?.find(([other]) => Math.abs(other - nines) < 5e-4)?.[1];
  const said = NAMED.filter(([name]) => FLOOR.includes(name)).flatMap(([name, nines]) => { const ns = at(nines); return ns == null ? [] : [`${name} ${duration(ns)}`]; });
  return said.length > 0 ? `Grey, where it comes near: the load generator alone (${said.join(", ")}).` : "";
}

function tableOf(drawn: Drawn[]) {
  return {
    head: ["engine", "role", "operation", "kind", "samples", ...NAMED.map(([name]) => name)],
    words: 4,
    rows: drawn.map(({ engine, curve }) => [
      engine.name, curve.role, curve.op ?? "all", curve.kind, grouped(curve.n),
      ...NAMED.map(([, nines]) => {
        const point = curve.points.find(([at]) => Math.abs(at - nines) < 5e-4);
        return point ? duration(point[1]) : NONE;
      }),
    ]),
  };
}

function chart(list: Panel[], width: number, theme: Theme): { height: number; option: Option } {
  const { small, each } = multiples(list);
  const names = list.flatMap((panel) => panel.lines.map((one) => one.engine.name));
  const space = small ? SMALL : { height: 250, least: 260, left: 58, right: nameWidth(names), most: 2 };
  const place = panelsWithWords(each.map(({ panel }) => gapWords(panel.gaps ?? [], String)), width, space, theme);
  // The load generator's line is far below and far longer: it is drawn as far as it comes near the engines.
  const points = list.flatMap((panel) => panel.lines.filter((one) => !one.engine.loadGenerator).flatMap((one) => one.curve.points));
  const most = Math.ceil(Math.max(1, ...points.map(([nines]) => nines)) - 0.05);
  const least = 10 ** (Math.floor(Math.log10(Math.max(1, Math.min(...points.filter(([nines]) => nines > 0.2).map(([, ns]) => ns))))) - 1);
  const highest = 10 ** Math.ceil(Math.log10(Math.max(10, ...points.map(([, ns]) => ns))));
  const option: Option = {
    title: [...each.map(({ panel }, at) => title(panel.title, place.panels[at]!, space.left, theme)), ...place.titles],
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
    lineStyle: { color: colour, width: engine.loadGenerator ? 1.5 : 2, type: dashOf(engine) },
    endLabel: { show: named, formatter: () => cut(engine.name), color: colour, fontFamily: FONT, fontSize: 12, fontWeight: 600, distance: 6, textBorderColor: theme.ground, textBorderWidth: 3 },
    z: engine.loadGenerator ? 1 : 3,
  }];
}
