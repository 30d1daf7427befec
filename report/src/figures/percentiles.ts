// Figure: latency by percentile. A line ends where fewer than 10 samples are slower.

import type { Clock, Curve } from "../data";
import { engineColour, engineDash, markerSymbol, type Theme } from "../colour";
import { createControl, nonEmptyTexts, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { formatDuration, formatThousands, NONE, formatPercentile } from "../format";
import { formatGaps, lineGaps, layOutPanelsWithNotes, type Gap } from "../gaps";
import { hiccupNote } from "../hiccups";
import { axisOptions, axisLabelOptions, truncate, FONT, splitByEngine, nameWidth, SMALL, tooltipContent, panelTitle, tooltipOptions } from "../layout";
import { roleOps, findRole, tailMetric, unique, type Case, type Engine } from "../model";
import type { View } from "../view";
import { casesAtThreads, threadsControl } from "./choices";

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

/** The most operations with a panel each by default. */
const OPS_MAX = 4;

const CLOCKS: Clock[] = ["service", "response", "submit", "completion"];
const TIMES: Record<Clock, string> = {
  service: "service time", response: "response time",
  submit: "submission latency (slat)", completion: "completion latency (clat)",
};

/** Percentiles with their names and numbers of nines. */
const NAMED = [["p50", 0.301], ["p90", 1], ["p95", 1.301], ["p99", 2], ["p99.9", 3], ["p99.99", 4], ["p99.999", 5]] as const;
/** The percentiles that the note on the load generator names. */
const FLOOR: string[] = ["p50", "p90", "p99", "p99.9"];

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "percentiles");
  const cases = casesAtThreads(view, threads);
  const { curves } = view.model.data;
  // An operation's curve is its own, or the only one of a role with one operation.
  const ops = unique(view.work.roles.flatMap((role) => listOps(cases, role)));
  const matchesCurve = (one: Case, curve: Curve, op: string): boolean => {
    const row = findRole(one, curve.role), single = (row?.ops.length ?? 0) < 2;
    return op === "" ? curve.op == null : single ? curve.op == null && row?.mix === op : curve.op === op;
  };
  const findCurves = (role: string, kind: string, op: string): Drawn[] => cases.flatMap((one) => curves
    .filter((curve) => curve.group === one.index && curve.phase === view.work.phase && curve.role === role && curve.kind === kind && matchesCurve(one, curve, op))
    .map((curve) => ({ engine: one.engine, curve })));
  const all = view.work.roles.flatMap((role) => findCurves(role, "service", ""));
  if (all.every((drawnCurve) => drawnCurve.engine.loadGenerator || drawnCurve.curve.points.length === 0)) return null;
  // Gets from a cache and updates that wait for a flush are not one distribution.
  const op = createControl(view, "percentiles.op", "operation", [
    { value: EACH, label: "each by itself" }, { value: ALL, label: "all together" }, ...ops.map((name) => ({ value: name, label: name }))], ops.length > OPS_MAX ? ALL : EACH);
  const list = view.work.roles.flatMap((role) => {
    const operations = listOps(cases, role), chosenOps = op.value === ALL || operations.length === 0 ? [""] : op.value === EACH ? operations : operations.filter((name) => name === op.value);
    return chosenOps.flatMap((name) => clockPanels(view, cases, role, name, CLOCKS.map((kind) => [kind, findCurves(role, kind, name)])));
  }).filter((panel) => panel.lines.some((one) => !one.engine.loadGenerator));
  if (list.length === 0) return null;
  // A panel with one line compares nothing: its times are in the table only.
  const maxLines = Math.max(...list.map((panel) => panel.lines.length));
  const comparable = list.filter((panel) => panel.lines.length > 1 || maxLines === 1);
  // The note on jitter appears once on a page.
  const isFirst = view.model.works[0]?.id === view.work.id;
  return {
    title: "Latency by percentile",
    note: "Lower is better; all trials' samples together.",
    how: nonEmptyTexts(ops.length > 0 && op.value === EACH ? "Each operation by itself: gets from a cache and updates that wait for a flush are not one distribution." : "", "A line ends where fewer than 10 samples are slower.", floorNote(comparable.flatMap((panel) => panel.lines)), isFirst ? hiccupNote(view.model.data.summary.hiccups) : ""),
    controls: ops.length > 0 ? [threads, op] : [threads],
    cases,
    chart: (width, theme) => percentileChart(comparable, width, theme),
    table: () => curvesTable(list.flatMap((panel) => panel.lines)),
  };
}

/** Returns a role's operations, if any case has several, including those of cases with one. */
function listOps(cases: Case[], role: string): string[] {
  const several = roleOps(cases, role);
  return several.length === 0 ? [] : unique([...several, ...cases.flatMap((one) => { const row = findRole(one, role); return row && row.ops.length < 2 ? [row.mix] : []; })]);
}

/** Returns a panel for each kind of latency of an operation. */
function clockPanels(view: View, cases: Case[], role: string, op: string, clocks: [Clock, Drawn[]][]): Panel[] {
  const several = clocks.filter(([, drawnCurves]) => drawnCurves.length > 0).length > 1;
  const subject = [role, ...(op ? [op] : [])].join(", ");
  return clocks.map(([kind, drawnCurves]) => ({
    title: several ? `${subject}, ${TIMES[kind]}` : `${subject}, time of ${view.work.load ? "a call (a batch)" : "one operation"}`,
    short: several ? `${subject}, ${kind}` : subject,
    lines: drawnCurves.filter((one) => one.curve.points.length > 0),
    gaps: lineGaps(view, cases, drawnCurves.filter((one) => one.curve.points.length > 0).map((one) => one.engine), (one) => tailMetric(one, role, "p50", op || null), "no times of this kind"),
  }));
}

/** Names the load generator's own latencies, whose line is grey. */
function floorNote(drawnCurves: Drawn[]): string {
  const floor = drawnCurves.find((one) => one.engine.loadGenerator)?.curve.points;
  const floorAt = (nines: number) => floor?.find(([other]) => Math.abs(other - nines) < 5e-4)?.[1];
  const latencies = NAMED.filter(([name]) => FLOOR.includes(name)).flatMap(([name, nines]) => { const ns = floorAt(nines); return ns == null ? [] : [`${name} ${formatDuration(ns)}`]; });
  return latencies.length > 0 ? `Grey, where it comes near: the load generator alone (${latencies.join(", ")}).` : "";
}

function curvesTable(drawnCurves: Drawn[]) {
  return {
    head: ["engine", "role", "operation", "kind", "samples", ...NAMED.map(([name]) => name)],
    words: 4,
    rows: drawnCurves.map(({ engine, curve }) => [
      engine.name, curve.role, curve.op ?? "all", curve.kind, formatThousands(curve.n),
      ...NAMED.map(([, nines]) => {
        const point = curve.points.find(([at]) => Math.abs(at - nines) < 5e-4);
        return point ? formatDuration(point[1]) : NONE;
      }),
    ]),
  };
}

/** Omits the fastest operations, which would stretch the axis; a curve of 10 to 19 samples has no others. */
function omitFastest(points: Curve["points"]): Curve["points"] {
  const slower = points.filter(([nines]) => nines > 0.2);
  return slower.length > 0 ? slower : points;
}

export function percentileChart(list: Panel[], width: number, theme: Theme): { height: number; option: Option } {
  const { small, each } = splitByEngine(list);
  const names = list.flatMap((panel) => panel.lines.map((one) => one.engine.name));
  const space = small ? SMALL : { height: 250, least: 260, left: 58, right: nameWidth(names), most: 2 };
  const layout = layOutPanelsWithNotes(each.map(({ panel }) => formatGaps(panel.gaps ?? [], String)), width, space, theme);
  // The load generator's line is far below and far longer: it is drawn only near the engines' lines.
  const curves = list.flatMap((panel) => panel.lines.filter((one) => !one.engine.loadGenerator).map((one) => one.curve.points));
  const points = curves.flat();
  const maxNines = Math.ceil(Math.max(1, ...points.map(([nines]) => nines)) - 0.05);
  const minNs = 10 ** (Math.floor(Math.log10(Math.max(1, Math.min(...curves.flatMap(omitFastest).map(([, ns]) => ns))))) - 1);
  const maxNs = 10 ** Math.ceil(Math.log10(Math.max(10, ...points.map(([, ns]) => ns))));
  const option: Option = {
    title: [...each.map(({ panel }, at) => panelTitle(panel.title, layout.panels[at]!, space.left, theme)), ...layout.titles],
    grid: layout.panels,
    xAxis: each.map((_, at) => axisOptions(theme, at, {
      type: "value", min: 0, max: maxNines, interval: 1, splitLine: { show: true, lineStyle: { color: theme.grid } },
      ...(small ? {} : { name: "share of operations that are faster", nameGap: 26 }),
      axisLabel: axisLabelOptions(theme, (nines) => (nines === 0 ? "0" : `${formatPercentile(nines).slice(1)}%`)),
    })),
    yAxis: each.map((_, at) => axisOptions(theme, at, {
      type: "log", min: Math.max(1, minNs), ...(small ? { max: maxNs, splitNumber: 3 } : {}), axisLine: { show: false }, axisLabel: axisLabelOptions(theme, formatDuration),
    })),
    tooltip: tooltipOptions(theme, { trigger: "axis", axisPointer: { type: "line", lineStyle: { color: theme.line } },
      formatter: (items: { seriesName: string; color: string; value: [number, number] }[]) =>
        tooltipContent(formatPercentile(items[0]?.value[0] ?? 0), items.map((item) => [item.seriesName, formatDuration(item.value[1]), item.color])) }),
    series: each.flatMap(({ panel }, at) => panel.lines.flatMap((one) => curveSeries(one, at, theme, maxNines, Math.max(1, minNs), !small))),
  };
  return { height: layout.height, option };
}

function curveSeries({ engine, curve }: Drawn, at: number, theme: Theme, maxNines: number, minNs: number, isLabelled: boolean): object[] {
  const points = curve.points.filter(([nines, ns]) => nines <= maxNines + 0.01 && ns >= minNs);
  if (points.length === 0) return [];
  const colour = engineColour(engine, theme);
  const isMarked = (nines: number) => NAMED.some(([, namedNines]) => Math.abs(nines - namedNines) < 1e-3);
  return [{
    type: "line", name: engine.name, xAxisIndex: at, yAxisIndex: at,
    data: points.map(([nines, ns]) => ({ value: [nines, Math.max(1, ns)], symbolSize: isMarked(nines) && !engine.loadGenerator ? 7 : 0.01 })),
    symbol: engine.loadGenerator ? "none" : markerSymbol(engine), showAllSymbol: true,
    step: false, itemStyle: { color: colour }, emphasis: { disabled: true },
    lineStyle: { color: colour, width: engine.loadGenerator ? 1.5 : 2, type: engineDash(engine) },
    endLabel: { show: isLabelled, formatter: () => truncate(engine.name), color: colour, fontFamily: FONT, fontSize: 12, fontWeight: 600, distance: 6, textBorderColor: theme.ground, textBorderWidth: 3 },
    z: engine.loadGenerator ? 1 : 3,
  }];
}
