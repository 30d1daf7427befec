// Bytes written by cause: write-ahead log, flushes, compactions, as far as an engine tells, with what
// the device wrote beside it.

import { better, paragraphs, trialsNote, type Drawing, type Figure } from "../drawing";
import type { Cause, Written } from "../data";
import { pale, colourOf, type Theme } from "../colour";
import type { Option } from "../echarts";
import { bytes, NONE } from "../format";
import { whyMissing, withoutWords } from "../gaps";
import { axis, axisLabel, cut, FONT, tip, tooltip } from "../layout";
import { costOf, threadsText, unique, type Case } from "../model";
import type { View } from "../view";
import { binaryScale } from "./bars";
import { atThreads, threadsControl } from "./choices";

export const written: Figure = { name: "written", draw };

const CAUSES: [Cause, string][] = [["wal", "write-ahead log"], ["flush", "flush"], ["compaction", "compaction"]];

/** A bar: what an engine says, or what the device counted. */
interface Row {
  one: Case;
  name: string;
  parts: { name: string; value: number }[];
  /** Behind it: what it does not say. */
  word: string;
}

const middle = (values: number[]): number => {
  const sorted = [...values].sort((a, b) => a - b), half = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[half] ?? 0 : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
};

/** A median over trials of each cause, in all phases that belong together. */
function told(list: Written[], phases: string[]): { cause: Cause; value: number }[] {
  const trials = unique(list.map((one) => one.trial));
  return CAUSES.flatMap(([cause]) => {
    const sums = trials.flatMap((trial) => {
      const own = list.filter((one) => one.trial === trial && phases.includes(one.phase)).flatMap((one) => one.bytes.filter(([name]) => name === cause));
      return own.length === 0 ? [] : [own.reduce((sum, [, value]) => sum + value, 0)];
    });
    return sums.length === 0 ? [] : [{ cause, value: middle(sums) }];
  });
}

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "written");
  const cases = atThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const phases = view.work.load ? [view.work.phase, "settle"] : [view.work.phase];
  const all = (view.model.data.written ?? []).filter((one) => phases.includes(one.phase) && cases.some((each) => each.index === one.group));
  const rows = cases.flatMap((one): Row[] => {
    const own = told(all.filter((each) => each.group === one.index), phases);
    const device = costOf(one, "device_write_bytes")?.value;
    const says: Row[] = own.length > 0
      ? [{ one, name: `${one.engine.name} says`, parts: own.map(({ cause, value }) => ({ name: CAUSES.find(([name]) => name === cause)?.[1] ?? cause, value })), word: lacking(own.map(({ cause }) => cause)) }]
      : [{ one, name: `${one.engine.name} says`, parts: [], word: device == null ? whyMissing(one, costOf(one, "device_write_bytes")) : "it does not tell" }];
    return [...says, ...(device == null ? [] : [{ one, name: "device wrote", parts: [{ name: "all causes", value: device }], word: "" }])];
  });
  if (all.length === 0) return null;
  return {
    title: "Bytes written by cause",
    note: `What an engine says it wrote, and below it what the device counted, ${better("lower")}; median of ${trialsNote(view)}.`,
    how: paragraphs(`The device's count is of the same phase${view.work.load ? " and the settling after it" : ""}. It can be less: what was not written back, or was written over before it was.`,
      `Sources: ${unique(all.flatMap((one) => one.sources)).join("; ")}.`),
    controls: [threads],
    cases,
    without: withoutWords(view, cases, cases.map((one) => one.engine), () => null, ""),
    chart: (width, theme) => chart(rows, width, theme),
    table: () => ({
      head: ["engine", "threads", ...CAUSES.map(([, title]) => title), "device, all causes", "keys and values"],
      rows: view.cases.filter((one) => !one.engine.loadGenerator).map((one) => {
        const own = (view.model.data.written ?? []).filter((each) => each.group === one.index && phases.includes(each.phase));
        const causes = told(own, phases), device = costOf(one, "device_write_bytes")?.value;
        const given = own.filter((each) => each.phase === view.work.phase).map((each) => each.user_bytes);
        return [one.engine.name, threadsText(one),
          ...CAUSES.map(([cause]) => { const found = causes.find((each) => each.cause === cause); return found ? bytes(Math.round(found.value)) : NONE; }),
          device == null ? NONE : bytes(Math.round(device)), given.length === 0 ? NONE : bytes(Math.round(middle(given)))];
      }),
    }),
  };
}

const lacking = (causes: Cause[]): string => {
  const missing = CAUSES.filter(([cause]) => !causes.includes(cause)).map(([, title]) => title);
  return missing.length === 0 ? "" : `${missing.join(", ")} not reported`;
};

function chart(rows: Row[], width: number, theme: Theme): { height: number; option: Option } {
  const longest = Math.max(...rows.map((row) => cut(row.name, 20).length));
  const sum = (row: Row) => row.parts.reduce((all, part) => all + part.value, 0);
  const scale = binaryScale(Math.max(1, ...rows.map(sum)));
  const words = Math.max(8, ...rows.map((row) => Math.min(34, label(row).length)));
  const left = longest * 6.6 + 14, right = Math.min(words * 6.4 + 12, width / 2.4), top = 28;
  // From the end of its bar to the edge.
  const room = (row: Row) => width - left - ((width - left - right) * sum(row)) / scale.max - 12;
  const names = [...CAUSES.map(([, title]) => title), "all causes"].filter((name) => rows.some((row) => row.parts.some((part) => part.name === name)));
  const shade = (row: Row, name: string): string => {
    const colour = colourOf(row.one.engine, theme), paler = names.indexOf(name);
    return name === "all causes" ? theme.line : paler === 1 ? pale(colour, theme) : paler === 2 ? pale(pale(colour, theme), theme) : colour;
  };
  const height = rows.length * 26;
  const option: Option = {
    grid: { left, right, top, height },
    xAxis: axis(theme, 0, { type: "value", min: 0, axisLine: { show: false }, axisLabel: axisLabel(theme, bytes), ...scale }),
    yAxis: axis(theme, 0, { type: "category", inverse: true, splitLine: { show: false }, data: rows.map((_, at) => String(at)),
      axisLabel: { ...axisLabel(theme, (at) => cut(rows[Number(at)]?.name ?? "", 20)), color: theme.text, fontSize: 12, hideOverlap: false, interval: 0 } }),
    title: { text: names.filter((name) => name !== "all causes").map((name, at) => `${["dark", "paler", "palest"][at]}: ${name}`).join("   "), left: 2, top: 4, padding: 0, textStyle: { color: theme.faint, fontSize: 12, fontWeight: 400, fontFamily: FONT } },
    tooltip: tooltip(theme, { trigger: "item" }),
    series: names.map((name, order) => ({
      type: "bar", stack: "all", barWidth: 14, name, emphasis: { disabled: true },
      data: rows.map((row) => ({ value: row.parts.find((part) => part.name === name)?.value ?? 0, itemStyle: { color: shade(row, name), borderColor: theme.ground, borderWidth: 1 }, label: { width: room(row) } })),
      label: order === names.length - 1 ? { show: true, position: "right", distance: 6, color: theme.text, fontFamily: FONT, fontSize: 12, overflow: "truncate",
        formatter: (item: { dataIndex: number }) => label(rows[item.dataIndex]!) } : { show: false },
      tooltip: { formatter: (item: { dataIndex: number }) => {
        const row = rows[item.dataIndex]!;
        return tip(`${row.one.engine.name}: ${row.name}`, row.parts.map((part) => [part.name, bytes(Math.round(part.value)), shade(row, part.name)]));
      } },
    })),
  };
  return { height: top + height + 34, option };
}

function label(row: Row): string {
  const all = row.parts.reduce((sum, part) => sum + part.value, 0);
  return [row.parts.length > 0 ? bytes(Math.round(all)) : "", row.word].filter(Boolean).join(", ");
}
