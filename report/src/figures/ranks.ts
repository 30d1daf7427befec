// The ranks of a crew beside each other: how fast each was against the median one. A panel for each
// engine, a dot for each rank, a colour for each host.

import type { RankRow } from "../crews";
import type { Theme } from "../colour";
import { trialsNote, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { inUnit, NONE } from "../format";
import { axis, axisLabel, cut, FONT, panels, tip, title, tooltip } from "../layout";
import { metricOf, threadsText, unique, type Case } from "../model";
import type { View } from "../view";
import { atThreads, threadsControl } from "./choices";

export const ranks: Figure = { name: "ranks", draw };

/** Where a finding says that a rank stands apart. */
const APART = [75, 100 / 0.75];

interface Panel {
  one: Case;
  rows: RankRow[];
}

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "ranks");
  const all = panelsOf(view, view.cases);
  const list = panelsOf(view, view.work.load ? view.cases : atThreads(view, threads));
  if (list.length === 0) return null;
  return {
    title: "Ranks of the crew",
    note: `Each rank's pace compared with the median rank: 100 % is equal; median of ${trialsNote(view)}.`,
    how: ["What each rank's threads did, over what they would have done had each been as fast as the median rank's of its role. Dashed: where ranks stand far apart (75 %, 133 %)."],
    controls: view.work.load ? [] : [threads],
    chart: (width, theme) => chart(list, width, theme),
    table: () => ({
      head: ["engine", "host", "threads", "rank", "its threads", "ops/s", "of median", "CPUs", "CPU/op", "began after", "clock ahead", "± clock", "errors", "backlog"],
      words: 2,
      rows: all.flatMap(({ one, rows }) => rows.map((row) => [
        one.engine.name, row.host, threadsText(one), String(row.rank), String(row.threads), ...FIGURES.map((name) => cell(row, name)),
      ])),
    }),
  };
}

const FIGURES = [
  "rank_ops_per_s", "rank_pace_percent", "rank_cpus", "rank_cpu_ns_per_op", "rank_skew_ns", "clock_offset_ns", "clock_error_ns", "errors", "backlog_ops",
];

const value = (row: RankRow, name: string): number | null => metricOf(row.metrics, name)?.value ?? null;

function cell(row: RankRow, name: string): string {
  const metric = metricOf(row.metrics, name);
  return metric?.value == null ? NONE : inUnit(metric.value, metric.unit);
}

function panelsOf(view: View, cases: Case[]): Panel[] {
  const list = cases.map((one) => ({
    one,
    rows: view.model.data.summary.ranks.filter((row) => row.group === one.index && row.phase === view.work.phase),
  }));
  return list.filter(({ rows }) => rows.length > 0);
}

function chart(list: Panel[], width: number, theme: Theme): { height: number; option: Option } {
  const hosts = unique(list.flatMap(({ rows }) => rows.map((row) => row.host)));
  const key = keyOf(hosts, width, theme);
  const place = panels(list.length, width, { height: 190, least: 230, left: 56, right: 18, top: 34, bottom: 44, most: 2 });
  const places = place.panels.map((panel) => ({ ...panel, top: panel.top + key.height }));
  const top = Math.max(150, ...list.flatMap(({ rows }) => rows.map((row) => value(row, "rank_pace_percent") ?? 0)));
  const option: Option = {
    title: [...key.titles, ...list.map(({ one }, at) => title(one.engine.name, places[at]!, 56, theme))],
    grid: places,
    xAxis: list.map(({ rows }, at) => axis(theme, at, {
      type: "category", data: rows.map((row) => String(row.rank)), name: "rank", nameGap: 26, splitLine: { show: false },
    })),
    yAxis: list.map((_, at) => axis(theme, at, {
      type: "value", min: 0, max: 50 * Math.ceil(top / 50), ...(top > 400 ? {} : { interval: 50 }), axisLine: { show: false }, axisLabel: axisLabel(theme, (percent) => `${percent} %`),
    })),
    tooltip: tooltip(theme, { trigger: "item" }),
    series: list.flatMap((panel, at) => [...lines(at, theme), ...hosts.map((host, index) => dots(panel, at, host, colour(theme, hosts, index)))]),
  };
  return { height: place.height + key.height, option };
}

/** More hosts than colours are not told apart but by their dots' words. */
const colour = (theme: Theme, hosts: string[], at: number): string =>
  (hosts.length <= theme.engines.length ? theme.engines[at] : theme.engines[0]) ?? theme.text;

function keyOf(hosts: string[], width: number, theme: Theme): { titles: object[]; height: number } {
  if (hosts.length < 2 || hosts.length > theme.engines.length) return { titles: [], height: 0 };
  let left = 2, top = 2;
  const titles = hosts.map((host, at) => {
    const name = cut(host, 24);
    const room = name.length * 6.6 + 30;
    if (left > 2 && left + room > width) [left, top] = [2, top + 20];
    // A host's name is no markup: braces would be.
    const text = {
      text: `{mark|} {name|${name.replace(/[{}|]/g, " ")}}`, left, top, padding: 0,
      textStyle: { fontWeight: 400, rich: {
        mark: { width: 10, height: 10, backgroundColor: colour(theme, hosts, at), borderRadius: 5 },
        name: { color: theme.text, fontSize: 12, fontWeight: 400, fontFamily: FONT, padding: [0, 0, 0, 3] },
      } },
    };
    left += room;
    return text;
  });
  return { titles, height: top + 22 };
}

/** The median rank, and where others stand far apart from it. */
function lines(at: number, theme: Theme): object[] {
  const line = (y: number, type: string) => ({ yAxis: y, lineStyle: { color: theme.line, type, width: 1 }, label: { show: false } });
  return [{
    type: "scatter", xAxisIndex: at, yAxisIndex: at, data: [], silent: true,
    markLine: { silent: true, symbol: "none", animation: false, data: [line(100, "solid"), ...APART.map((percent) => line(percent, "dashed"))] },
  }];
}

function dots({ one, rows }: Panel, at: number, host: string, colour: string): object {
  const own = rows.filter((row) => row.host === host && value(row, "rank_pace_percent") != null);
  return {
    type: "scatter", name: host, xAxisIndex: at, yAxisIndex: at, symbolSize: own.length > 100 ? 4 : 8, itemStyle: { color: colour },
    data: own.map((row) => [String(row.rank), value(row, "rank_pace_percent")]),
    tooltip: { formatter: (item: { dataIndex: number }) => {
      const row = own[item.dataIndex];
      if (!row) return "";
      const words: [string, string][] = [
        ["of the median rank", "rank_pace_percent"], ["ops/s", "rank_ops_per_s"], ["CPUs", "rank_cpus"], ["began after the first", "rank_skew_ns"],
      ];
      return tip(`${one.engine.name}: rank ${row.rank} of ${row.ranks}, ${row.host}`,
        [["threads", String(row.threads)], ...words.map(([word, name]): [string, string] => [word, cell(row, name)])]);
    } },
  };
}
