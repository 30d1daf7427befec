// Where the time of each role's threads went: on a CPU, waiting for one, for the device,
// for others, idle. A bar for each engine, a panel for each role.

import type { Explained } from "../data";
import { type Theme } from "../colour";
import { paragraphs, trialsNote, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { inUnit, NONE, ownThreads } from "../format";
import { expectedEngines, lineGaps, type Gap } from "../gaps";
import { axis, axisLabel, cut, ENGINES_MAX, FONT, panels, tip, title, tooltip } from "../layout";
import { metricOf, rateOf, unique, type Case, type Engine } from "../model";
import type { View } from "../view";
import { NAME_MAX } from "./bars";
import { atThreads, threadsControl } from "./choices";
import { LIMITS } from "./efficiency";

export const time: Figure = { name: "time", draw };

interface Part {
  name: string;
  /** Inside a bar. */
  short: string;
  colour: (theme: Theme) => string;
  read: (percent: (name: string) => number) => number;
}

const part = (at: number) => (theme: Theme): string => theme.parts[at] ?? theme.text;

/** In the order of the bar; they add up to 100. */
export const PARTS: Part[] = [
  { name: "computing, user mode", short: "user", colour: part(0), read: (of) => of("user") },
  { name: "computing, kernel", short: "sys", colour: part(1), read: (of) => of("system") },
  { name: "ready but without a CPU", short: "wait CPU", colour: part(2), read: (of) => of("runqueue") },
  { name: "device: reads", short: "read", colour: part(3), read: (of) => of("device_read") },
  { name: "device: writes", short: "write", colour: part(4), read: (of) => of("device_write") },
  { name: "device: syncs", short: "sync", colour: part(5), read: (of) => of("device_sync") },
  { name: "device", short: "device", colour: part(6), read: (of) => of("device") - of("device_read") - of("device_write") - of("device_sync") },
  { name: "stalls", short: "stall", colour: part(7), read: (of) => of("stall") },
  { name: "other threads", short: "lock", colour: part(8), read: (of) => of("lock") },
  { name: "another process", short: "server", colour: part(9), read: (of) => of("network") },
  { name: "nothing due", short: "idle", colour: (theme) => theme.grid, read: (of) => of("idle") },
  { name: "other, or not known", short: "other", colour: (theme) => theme.line, read: (of) => of("other") },
];

/** Less is not drawn apart from rounding. */
const SEEN = 0.05;

interface Row {
  one: Case;
  told: Explained;
  values: number[];
}

interface Panel {
  role: string;
  rows: Row[];
  /** Engines without a bar. */
  gaps: Gap[];
}

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "time");
  const all = rowsOf(view, view.cases.filter((one) => !one.engine.loadGenerator));
  const chosen = new Set(atThreads(view, threads));
  const list = panelsOf(all.filter((row) => chosen.has(row.one)), (role, drawn) =>
    lineGaps(view, [...chosen], drawn, (one) => (view.work.load ? null : rateOf(one, role)), "its time was not measured"));
  if (list.length === 0) return null;
  return {
    title: "Where the time went",
    note: `Share of the time of each role's threads, mean of ${trialsNote(view)}; neither way is better.`,
    how: paragraphs("CPU time and the wait for a CPU are counted by the kernel; waits come from 20 wait-state samples per second.", said(list)),
    controls: [threads],
    cases: [...chosen],
    chart: (width, theme) => chart(list, expectedEngines(view), width, theme),
    table: () => ({
      head: ["engine", "of", "most", "threads", ...PARTS.map((part) => part.short), "samples", "in words", "not known"],
      words: 3,
      rows: all.map(({ one, told, values }) => [
        one.engine.name, roleOf(told), told.cause ? LIMITS[told.cause] : NONE, ownThreads(told.threads, one.swept),
        ...values.map((value, at) => (known(told, PARTS[at]!) ? inUnit(value, "%") : NONE)),
        String(told.wait_samples), told.sentence ?? NONE, told.unknown.join("; "),
      ]),
    }),
  };
}

const roleOf = (told: Explained): string => told.role ?? "load";

/** Each in a sentence; of many engines those are in the table. */
const said = (list: Panel[]): string => (unique(list.flatMap((panel) => panel.rows.map((row) => row.one.engine))).length > ENGINES_MAX ? ""
  : list.flatMap((panel) => panel.rows.flatMap(sentence)).join(" "));

const sentence = ({ one, told }: Row): string[] => (told.sentence ? [`${one.engine.name}: ${told.sentence}.`] : []);

const value = (told: Explained, name: string): number | null => metricOf(told.metrics, `time_${name}_percent`)?.value ?? null;

/** Whether all that it is made of was measured. */
function known(told: Explained, part: Part): boolean {
  const asked: string[] = [];
  part.read((name) => { asked.push(name); return 0; });
  return value(told, asked[0] ?? "") != null;
}

function rowsOf(view: View, cases: Case[]): Row[] {
  return cases.flatMap((one) => view.model.data.summary.explained
    .filter((told) => told.group === one.index && told.phase === view.work.phase && told.load === view.work.load)
    .filter((told) => value(told, "user") != null)
    .map((told) => ({ one, told, values: PARTS.map((part) => Math.max(0, part.read((name) => value(told, name) ?? 0))) })));
}

function panelsOf(rows: Row[], gapsOf: (role: string, drawn: Engine[]) => Gap[]): Panel[] {
  return unique(rows.map((row) => roleOf(row.told))).map((role) => {
    const own = rows.filter((row) => roleOf(row.told) === role);
    return { role, rows: own, gaps: gapsOf(role, own.map((row) => row.one.engine)) };
  });
}

function chart(list: Panel[], expected: Engine[], width: number, theme: Theme): { height: number; option: Option } {
  const engines = unique([...expected, ...list.flatMap((panel) => panel.rows.map((row) => row.one.engine))]);
  const used = PARTS.flatMap((_, at) => (list.some((panel) => panel.rows.some((row) => (row.values[at] ?? 0) >= SEEN)) ? [at] : []));
  const key = keyOf(used, width, theme);
  const longest = Math.max(4, ...engines.map((one) => cut(one.name, NAME_MAX).length));
  const space = { height: engines.length * 34 + 6, least: 230, left: longest * 6.8 + 14, right: 20, top: 34, bottom: 30, most: 2 };
  const place = panels(list.length, width, space);
  const places = place.panels.map((panel) => ({ ...panel, top: panel.top + key.height }));
  const option: Option = {
    title: [...key.titles, ...list.map((panel, at) => title(panel.role, places[at]!, space.left, theme))],
    grid: places,
    xAxis: list.map((_, at) => axis(theme, at, {
      type: "value", min: 0, max: 100, interval: 25, axisLine: { show: false }, axisLabel: axisLabel(theme, (percent) => `${percent} %`),
    })),
    yAxis: list.map((_, at) => axis(theme, at, {
      type: "category", inverse: true, splitLine: { show: false }, data: engines.map((_, index) => String(index)),
      axisLabel: { ...axisLabel(theme, (index) => cut(engines[Number(index)]?.name ?? "", NAME_MAX)), color: theme.text, fontSize: 12, hideOverlap: false, interval: 0 },
    })),
    tooltip: tooltip(theme, { trigger: "item" }),
    series: list.flatMap((panel, at) => [...used.map((part) => seriesOf(panel, part, at, engines, places[at]!.width, theme)), reasons(panel, at, engines, theme)]),
  };
  return { height: place.height + key.height, option };
}

/** A square and a name for each part that is there, in lines. */
function keyOf(used: number[], width: number, theme: Theme): { titles: object[]; height: number } {
  let left = 2, top = 2;
  const titles = used.map((at) => {
    const part = PARTS[at]!;
    const room = part.name.length * 6.6 + 30;
    if (left > 2 && left + room > width) [left, top] = [2, top + 20];
    const text = {
      text: `{mark|} {name|${part.name}}`, left, top, padding: 0,
      textStyle: { fontWeight: 400, rich: {
        mark: { width: 11, height: 11, backgroundColor: part.colour(theme), borderRadius: 2 },
        name: { color: theme.text, fontSize: 12, fontWeight: 400, fontFamily: FONT, padding: [0, 0, 0, 3] },
      } },
    };
    left += room;
    return text;
  });
  return { titles, height: top + 22 };
}

function seriesOf(panel: Panel, at: number, axisAt: number, engines: Engine[], width: number, theme: Theme): object {
  const part = PARTS[at]!, colour = part.colour(theme);
  const rowOf = (index: number): Row | undefined => panel.rows.find((row) => row.one.engine === engines[index]);
  return {
    type: "bar", stack: `panel ${axisAt}`, xAxisIndex: axisAt, yAxisIndex: axisAt, barWidth: 20, name: part.name, emphasis: { disabled: true },
    itemStyle: { color: colour, borderColor: theme.ground, borderWidth: 1 },
    data: engines.map((_, index) => rowOf(index)?.values[at] ?? "-"),
    label: {
      show: true, position: "inside", color: readable(colour), fontFamily: FONT, fontSize: 11,
      formatter: (item: { value: number | "-" }) => (item.value === "-" ? "" : label(part.short, item.value, (width * item.value) / 100)),
    },
    tooltip: { formatter: (item: { dataIndex: number }) => {
      const row = rowOf(item.dataIndex);
      if (!row) return "";
      const lines = PARTS.map((one, index): [string, string, string] => [one.name, inUnit(row.values[index] ?? 0, "%"), one.colour(theme)]);
      return tip(`${row.one.engine.name}: ${panel.role}`, lines.filter((_, index) => (row.values[index] ?? 0) >= SEEN));
    } },
  };
}

/** Why there is no bar, in its place. */
function reasons(panel: Panel, at: number, engines: Engine[], theme: Theme): object {
  return {
    type: "bar", stack: `panel ${at}`, xAxisIndex: at, yAxisIndex: at, silent: true, data: engines.map(() => 0),
    label: {
      show: true, position: "right", distance: 6, color: theme.faint, fontFamily: FONT, fontSize: 11,
      formatter: ({ dataIndex }: { dataIndex: number }) => {
        const gap = panel.gaps.find((one) => one.engine === engines[dataIndex]);
        return gap ? `${NONE} ${gap.why}` : "";
      },
    },
  };
}

/** As much as fits into a part of the bar. */
export function label(name: string, percent: number, width: number): string {
  const whole = `${name} ${percent.toFixed(0)}`;
  if (whole.length * 6.6 + 6 <= width) return whole;
  const short = percent.toFixed(0);
  return short.length * 6.6 + 6 <= width ? short : "";
}

/** Black or white, whichever is told from the ground more easily. */
export function readable(colour: string): string {
  const channel = (at: number) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  const light = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
  return light > 0.179 ? "#000000" : "#ffffff";
}
