// Figure: bytes written by cause (write-ahead log, flushes, compactions), as far as an engine reports them,
// next to the bytes that the device wrote.

import { formatDirection, nonEmptyTexts, trialsNote, type Drawing, type Figure } from "../drawing";
import type { Cause, Written } from "../data";
import { paleColour, engineColour, type Theme } from "../colour";
import type { Option } from "../echarts";
import { formatBytes, NONE } from "../format";
import { missingReason, notDrawnEngines } from "../gaps";
import { axisOptions, axisLabelOptions, truncate, FONT, tooltipContent, tooltipOptions } from "../layout";
import { costMetric, phasesUntilSettled, threadsText, unique, type Case } from "../model";
import type { View } from "../view";
import { binaryScale } from "./bars";
import { casesAtThreads, threadsControl } from "./choices";

export const written: Figure = { name: "written", draw };

const CAUSES: [Cause, string][] = [["wal", "write-ahead log"], ["flush", "flush"], ["compaction", "compaction"]];

/** A bar: an engine's report, or the device's count. */
interface Row {
  one: Case;
  name: string;
  parts: { name: string; value: number }[];
  /** The word behind the bar: causes that the engine does not report. */
  word: string;
}

const median = (values: number[]): number => {
  const sorted = [...values].sort((a, b) => a - b), half = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[half] ?? 0 : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
};

/** Returns the median over trials of the bytes of each cause, summed over phases. */
function bytesByCause(list: Written[]): { cause: Cause; value: number }[] {
  const trials = unique(list.map((one) => one.trial));
  return CAUSES.flatMap(([cause]) => {
    const sums = trials.flatMap((trial) => {
      const own = list.filter((one) => one.trial === trial).flatMap((one) => one.bytes.filter(([name]) => name === cause));
      return own.length === 0 ? [] : [own.reduce((sum, [, value]) => sum + value, 0)];
    });
    return sums.length === 0 ? [] : [{ cause, value: median(sums) }];
  });
}

/** Returns what an engine reports of a case's phase and the settling after it, like the device's count. */
const listWritten = (view: View, one: Case): Written[] =>
  (view.model.data.written ?? []).filter((each) => each.group === one.index && phasesUntilSettled(one).includes(each.phase));

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "written");
  const cases = casesAtThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const all = cases.flatMap((one) => listWritten(view, one)), settles = cases.some((one) => phasesUntilSettled(one).length > 1);
  const rows = cases.flatMap((one): Row[] => {
    const causes = bytesByCause(listWritten(view, one));
    const device = costMetric(one, "device_write_bytes")?.value;
    const reportedRows: Row[] = causes.length > 0
      ? [{ one, name: `${one.engine.name} says`, parts: causes.map(({ cause, value }) => ({ name: CAUSES.find(([name]) => name === cause)?.[1] ?? cause, value })), word: formatUnreported(causes.map(({ cause }) => cause)) }]
      : [{ one, name: `${one.engine.name} says`, parts: [], word: device == null ? missingReason(one, costMetric(one, "device_write_bytes")) : "it does not tell" }];
    return [...reportedRows, ...(device == null ? [] : [{ one, name: "device wrote", parts: [{ name: "all causes", value: device }], word: "" }])];
  });
  if (all.length === 0) return null;
  return {
    title: "Bytes written by cause",
    note: `What an engine says it wrote, and below it what the device counted, ${formatDirection("lower")}; median of ${trialsNote(view)}.`,
    how: nonEmptyTexts(`The device's count is of the same phase${settles ? " and the settling after it" : ""}. It can be less: what was not written back, or was written over before it was.`,
      `Sources: ${unique(all.flatMap((one) => one.sources)).join("; ")}.`),
    controls: [threads],
    cases,
    notDrawn: notDrawnEngines(view, cases, cases.map((one) => one.engine), () => null, ""),
    chart: (width, theme) => writtenChart(rows, width, theme),
    table: () => ({
      head: ["engine", "threads", ...CAUSES.map(([, title]) => title), "device, all causes", "keys and values"],
      rows: view.cases.filter((one) => !one.engine.loadGenerator).map((one) => {
        const own = listWritten(view, one), causes = bytesByCause(own), device = costMetric(one, "device_write_bytes")?.value;
        const userBytes = own.filter((each) => each.phase === view.work.phase).map((each) => each.user_bytes);
        return [one.engine.name, threadsText(one),
          ...CAUSES.map(([cause]) => { const total = causes.find((each) => each.cause === cause); return total ? formatBytes(Math.round(total.value)) : NONE; }),
          device == null ? NONE : formatBytes(Math.round(device)), userBytes.length === 0 ? NONE : formatBytes(Math.round(median(userBytes)))];
      }),
    }),
  };
}

const formatUnreported = (causes: Cause[]): string => {
  const missing = CAUSES.filter(([cause]) => !causes.includes(cause)).map(([, title]) => title);
  return missing.length === 0 ? "" : `${missing.join(", ")} not reported`;
};

function writtenChart(rows: Row[], width: number, theme: Theme): { height: number; option: Option } {
  const longest = Math.max(...rows.map((row) => truncate(row.name, 20).length));
  const rowSum = (row: Row) => row.parts.reduce((all, part) => all + part.value, 0);
  const scale = binaryScale(Math.max(1, ...rows.map(rowSum)));
  const words = Math.max(8, ...rows.map((row) => Math.min(34, rowLabel(row).length)));
  const left = longest * 6.6 + 14, right = Math.min(words * 6.4 + 12, width / 2.4), top = 28;
  // The width from the end of the bar to the edge.
  const labelRoom = (row: Row) => width - left - ((width - left - right) * rowSum(row)) / scale.max - 12;
  const names = [...CAUSES.map(([, title]) => title), "all causes"].filter((name) => rows.some((row) => row.parts.some((part) => part.name === name)));
  const partColour = (row: Row, name: string): string => {
    const colour = engineColour(row.one.engine, theme), paler = names.indexOf(name);
    return name === "all causes" ? theme.line : paler === 1 ? paleColour(colour, theme) : paler === 2 ? paleColour(paleColour(colour, theme), theme) : colour;
  };
  const height = rows.length * 26;
  const option: Option = {
    grid: { left, right, top, height },
    xAxis: axisOptions(theme, 0, { type: "value", min: 0, axisLine: { show: false }, axisLabel: axisLabelOptions(theme, formatBytes), ...scale }),
    yAxis: axisOptions(theme, 0, { type: "category", inverse: true, splitLine: { show: false }, data: rows.map((_, at) => String(at)),
      axisLabel: { ...axisLabelOptions(theme, (at) => truncate(rows[Number(at)]?.name ?? "", 20)), color: theme.text, fontSize: 12, hideOverlap: false, interval: 0 } }),
    title: { text: names.filter((name) => name !== "all causes").map((name, at) => `${["dark", "paler", "palest"][at]}: ${name}`).join("   "), left: 2, top: 4, padding: 0, textStyle: { color: theme.faint, fontSize: 12, fontWeight: 400, fontFamily: FONT } },
    tooltip: tooltipOptions(theme, { trigger: "item" }),
    series: names.map((name, order) => ({
      type: "bar", stack: "all", barWidth: 14, name, emphasis: { disabled: true },
      data: rows.map((row) => ({ value: row.parts.find((part) => part.name === name)?.value ?? 0, itemStyle: { color: partColour(row, name), borderColor: theme.ground, borderWidth: 1 }, label: { width: labelRoom(row) } })),
      label: order === names.length - 1 ? { show: true, position: "right", distance: 6, color: theme.text, fontFamily: FONT, fontSize: 12, overflow: "truncate",
        formatter: (item: { dataIndex: number }) => rowLabel(rows[item.dataIndex]!) } : { show: false },
      tooltip: { formatter: (item: { dataIndex: number }) => {
        const row = rows[item.dataIndex]!;
        return tooltipContent(`${row.one.engine.name}: ${row.name}`, row.parts.map((part) => [part.name, formatBytes(Math.round(part.value)), partColour(row, part.name)]));
      } },
    })),
  };
  return { height: top + height + 34, option };
}

function rowLabel(row: Row): string {
  const all = row.parts.reduce((sum, part) => sum + part.value, 0);
  return [row.parts.length > 0 ? formatBytes(Math.round(all)) : "", row.word].filter(Boolean).join(", ");
}
