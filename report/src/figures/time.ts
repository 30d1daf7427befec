// Figure: the time of each role's threads by cause: on a CPU, waiting for one, for the device or for
// others, idle. A bar per engine, a panel per role.

import type { Explained } from "../data";
import { type Theme } from "../colour";
import { nonEmptyTexts, trialsNote, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { formatValue, NONE, formatOwnThreads } from "../format";
import { expectedEngines, lineGaps, type Gap } from "../gaps";
import { axisOptions, axisLabelOptions, truncate, ENGINES_MAX, FONT, layOutPanels, tooltipContent, panelTitle, tooltipOptions } from "../layout";
import { findMetric, rateMetric, unique, type Case, type Engine } from "../model";
import type { View } from "../view";
import { NAME_MAX } from "./bars";
import { casesAtThreads, threadsControl } from "./choices";
import { LIMITS } from "./efficiency";

export const time: Figure = { name: "time", draw };

interface Part {
  name: string;
  /** The label inside a bar. */
  short: string;
  colour: (theme: Theme) => string;
  read: (percent: (name: string) => number) => number;
}

const partColour = (at: number) => (theme: Theme): string => theme.parts[at] ?? theme.text;

/** The parts in the order of the bar; they add up to 100. */
export const PARTS: Part[] = [
  { name: "computing, user mode", short: "user", colour: partColour(0), read: (percent) => percent("user") },
  { name: "computing, kernel", short: "sys", colour: partColour(1), read: (percent) => percent("system") },
  { name: "ready but without a CPU", short: "wait CPU", colour: partColour(2), read: (percent) => percent("runqueue") },
  { name: "device: reads", short: "read", colour: partColour(3), read: (percent) => percent("device_read") },
  { name: "device: writes", short: "write", colour: partColour(4), read: (percent) => percent("device_write") },
  { name: "device: syncs", short: "sync", colour: partColour(5), read: (percent) => percent("device_sync") },
  { name: "device", short: "device", colour: partColour(6), read: (percent) => percent("device") - percent("device_read") - percent("device_write") - percent("device_sync") },
  { name: "stalls", short: "stall", colour: partColour(7), read: (percent) => percent("stall") },
  { name: "other threads", short: "lock", colour: partColour(8), read: (percent) => percent("lock") },
  { name: "another process", short: "server", colour: partColour(9), read: (percent) => percent("network") },
  { name: "nothing due", short: "idle", colour: (theme) => theme.grid, read: (percent) => percent("idle") },
  { name: "other, or not known", short: "other", colour: (theme) => theme.line, read: (percent) => percent("other") },
];

/** The least percentage that is shown. */
const SEEN = 0.05;

interface Row {
  one: Case;
  explained: Explained;
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
  const all = timeRows(view, view.cases.filter((one) => !one.engine.loadGenerator));
  const chosen = new Set(casesAtThreads(view, threads));
  const list = timePanels(all.filter((row) => chosen.has(row.one)), (role, drawnEngines) =>
    lineGaps(view, [...chosen], drawnEngines, (one) => (view.work.load ? null : rateMetric(one, role)), "its time was not measured"));
  if (list.length === 0) return null;
  return {
    title: "Where the time went",
    note: `Share of the time of each role's threads, mean of ${trialsNote(view)}; neither way is better.`,
    how: nonEmptyTexts("CPU time and the wait for a CPU are counted by the kernel; waits come from 20 wait-state samples per second.", joinSentences(list)),
    controls: [threads],
    cases: [...chosen],
    chart: (width, theme) => partsChart(list, expectedEngines(view), width, theme),
    table: () => ({
      head: ["engine", "of", "most", "threads", ...PARTS.map((part) => part.short), "samples", "in words", "not known"],
      words: 3,
      rows: all.map(({ one, explained, values }) => [
        one.engine.name, roleLabel(explained), explained.cause ? LIMITS[explained.cause] : NONE, formatOwnThreads(explained.threads, one.swept),
        ...values.map((value, at) => (isMeasured(explained, PARTS[at]!) ? formatValue(value, "%") : NONE)),
        String(explained.wait_samples), explained.sentence ?? NONE, explained.unknown.join("; "),
      ]),
    }),
  };
}

const roleLabel = (explained: Explained): string => explained.role ?? "load";

/** Joins the sentences on each engine; empty: with many engines they are in the table only. */
const joinSentences = (list: Panel[]): string => (unique(list.flatMap((panel) => panel.rows.map((row) => row.one.engine))).length > ENGINES_MAX ? ""
  : list.flatMap((panel) => panel.rows.flatMap(causeSentence)).join(" "));

const causeSentence = ({ one, explained }: Row): string[] => (explained.sentence ? [`${one.engine.name}: ${explained.sentence}.`] : []);

const timePercent = (explained: Explained, name: string): number | null => findMetric(explained.metrics, `time_${name}_percent`)?.value ?? null;

/** Whether a part was measured: the first of its metrics has a value. */
function isMeasured(explained: Explained, part: Part): boolean {
  const names: string[] = [];
  part.read((name) => { names.push(name); return 0; });
  return timePercent(explained, names[0] ?? "") != null;
}

function timeRows(view: View, cases: Case[]): Row[] {
  return cases.flatMap((one) => view.model.data.summary.explained
    .filter((explained) => explained.group === one.index && explained.phase === view.work.phase && explained.load === view.work.load)
    .filter((explained) => timePercent(explained, "user") != null)
    .map((explained) => ({ one, explained, values: PARTS.map((part) => Math.max(0, part.read((name) => timePercent(explained, name) ?? 0))) })));
}

function timePanels(rows: Row[], findPanelGaps: (role: string, drawnEngines: Engine[]) => Gap[]): Panel[] {
  return unique(rows.map((row) => roleLabel(row.explained))).map((role) => {
    const own = rows.filter((row) => roleLabel(row.explained) === role);
    return { role, rows: own, gaps: findPanelGaps(role, own.map((row) => row.one.engine)) };
  });
}

function partsChart(list: Panel[], expected: Engine[], width: number, theme: Theme): { height: number; option: Option } {
  const engines = unique([...expected, ...list.flatMap((panel) => panel.rows.map((row) => row.one.engine))]);
  const usedParts = PARTS.flatMap((_, at) => (list.some((panel) => panel.rows.some((row) => (row.values[at] ?? 0) >= SEEN)) ? [at] : []));
  const key = partsKey(usedParts, width, theme);
  const longest = Math.max(4, ...engines.map((one) => truncate(one.name, NAME_MAX).length));
  const space = { height: engines.length * 34 + 6, least: 230, left: longest * 6.8 + 14, right: 20, top: 34, bottom: 30, most: 2 };
  const layout = layOutPanels(list.length, width, space);
  const places = layout.panels.map((panel) => ({ ...panel, top: panel.top + key.height }));
  const option: Option = {
    title: [...key.titles, ...list.map((panel, at) => panelTitle(panel.role, places[at]!, space.left, theme))],
    grid: places,
    xAxis: list.map((_, at) => axisOptions(theme, at, {
      type: "value", min: 0, max: 100, interval: 25, axisLine: { show: false }, axisLabel: axisLabelOptions(theme, (percent) => `${percent} %`),
    })),
    yAxis: list.map((_, at) => axisOptions(theme, at, {
      type: "category", inverse: true, splitLine: { show: false }, data: engines.map((_, index) => String(index)),
      axisLabel: { ...axisLabelOptions(theme, (index) => truncate(engines[Number(index)]?.name ?? "", NAME_MAX)), color: theme.text, fontSize: 12, hideOverlap: false, interval: 0 },
    })),
    tooltip: tooltipOptions(theme, { trigger: "item" }),
    series: list.flatMap((panel, at) => [...usedParts.map((part) => partSeries(panel, part, at, engines, places[at]!.width, theme)), reasonSeries(panel, at, engines, theme)]),
  };
  return { height: layout.height + key.height, option };
}

/** Returns the key: a square and a name for each used part, in lines. */
function partsKey(usedParts: number[], width: number, theme: Theme): { titles: object[]; height: number } {
  let left = 2, top = 2;
  const titles = usedParts.map((at) => {
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

function partSeries(panel: Panel, at: number, axisAt: number, engines: Engine[], width: number, theme: Theme): object {
  const part = PARTS[at]!, colour = part.colour(theme);
  const findRow = (index: number): Row | undefined => panel.rows.find((row) => row.one.engine === engines[index]);
  return {
    type: "bar", stack: `panel ${axisAt}`, xAxisIndex: axisAt, yAxisIndex: axisAt, barWidth: 20, name: part.name, emphasis: { disabled: true },
    itemStyle: { color: colour, borderColor: theme.ground, borderWidth: 1 },
    data: engines.map((_, index) => findRow(index)?.values[at] ?? "-"),
    label: {
      show: true, position: "inside", color: readableColour(colour), fontFamily: FONT, fontSize: 11,
      formatter: (item: { value: number | "-" }) => (item.value === "-" ? "" : partLabel(part.short, item.value, (width * item.value) / 100)),
    },
    tooltip: { formatter: (item: { dataIndex: number }) => {
      const row = findRow(item.dataIndex);
      if (!row) return "";
      const lines = PARTS.map((one, index): [string, string, string] => [one.name, formatValue(row.values[index] ?? 0, "%"), one.colour(theme)]);
      return tooltipContent(`${row.one.engine.name}: ${panel.role}`, lines.filter((_, index) => (row.values[index] ?? 0) >= SEEN));
    } },
  };
}

/** Returns the series of reasons in the places of missing bars. */
function reasonSeries(panel: Panel, at: number, engines: Engine[], theme: Theme): object {
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

/** Returns the label of a part, as much of it as fits. */
export function partLabel(name: string, percent: number, width: number): string {
  const whole = `${name} ${percent.toFixed(0)}`;
  if (whole.length * 6.6 + 6 <= width) return whole;
  const short = percent.toFixed(0);
  return short.length * 6.6 + 6 <= width ? short : "";
}

/** Returns black or white, whichever has more contrast with the colour. */
export function readableColour(colour: string): string {
  const linearChannel = (at: number) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  const light = 0.2126 * linearChannel(1) + 0.7152 * linearChannel(3) + 0.0722 * linearChannel(5);
  return light > 0.179 ? "#000000" : "#ffffff";
}
