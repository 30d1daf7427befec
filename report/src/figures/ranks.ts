// Figure: the pace of a crew's ranks relative to the median rank. A panel per engine, a dot per rank, a
// colour per host.

import type { RankRow } from "../crews";
import type { Theme } from "../colour";
import { trialsNote, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { formatValue, NONE } from "../format";
import { axisOptions, axisLabelOptions, truncate, FONT, layOutPanels, tooltipContent, panelTitle, tooltipOptions } from "../layout";
import { findMetric, threadsText, unique, type Case } from "../model";
import type { View } from "../view";
import { casesAtThreads, threadsControl } from "./choices";

export const ranks: Figure = { name: "ranks", draw };

/** The paces in percent from which a finding calls a rank an outlier. */
const APART = [75, 100 / 0.75];

interface Panel {
  one: Case;
  rows: RankRow[];
}

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "ranks");
  const all = rankPanels(view, view.cases);
  const list = rankPanels(view, view.work.load ? view.cases : casesAtThreads(view, threads));
  if (list.length === 0) return null;
  return {
    title: "Ranks of the crew",
    note: `Each rank's pace compared with the median rank: 100 % is equal; median of ${trialsNote(view)}.`,
    how: ["What each rank's threads did, over what they would have done had each been as fast as the median rank's of its role. Dashed: where ranks stand far apart (75 %, 133 %)."],
    controls: view.work.load ? [] : [threads],
    chart: (width, theme) => ranksChart(list, width, theme),
    table: () => ({
      head: ["engine", "host", "threads", "rank", "its threads", "ops/s", "of median", "CPUs", "CPU/op", "began after", "clock ahead", "± clock", "errors", "backlog"],
      words: 2,
      rows: all.flatMap(({ one, rows }) => rows.map((row) => [
        one.engine.name, row.host, threadsText(one), String(row.rank), String(row.threads), ...FIGURES.map((name) => formatCell(row, name)),
      ])),
    }),
  };
}

const FIGURES = [
  "rank_ops_per_s", "rank_pace_percent", "rank_cpus", "rank_cpu_ns_per_op", "rank_skew_ns", "clock_offset_ns", "clock_error_ns", "errors", "backlog_ops",
];

const metricValue = (row: RankRow, name: string): number | null => findMetric(row.metrics, name)?.value ?? null;

function formatCell(row: RankRow, name: string): string {
  const metric = findMetric(row.metrics, name);
  return metric?.value == null ? NONE : formatValue(metric.value, metric.unit);
}

function rankPanels(view: View, cases: Case[]): Panel[] {
  const list = cases.map((one) => ({
    one,
    rows: view.model.data.summary.ranks.filter((row) => row.group === one.index && row.phase === view.work.phase),
  }));
  return list.filter(({ rows }) => rows.length > 0);
}

function ranksChart(list: Panel[], width: number, theme: Theme): { height: number; option: Option } {
  const hosts = unique(list.flatMap(({ rows }) => rows.map((row) => row.host)));
  const key = hostKey(hosts, width, theme);
  const layout = layOutPanels(list.length, width, { height: 190, least: 230, left: 56, right: 18, top: 34, bottom: 44, most: 2 });
  const places = layout.panels.map((panel) => ({ ...panel, top: panel.top + key.height }));
  const top = Math.max(150, ...list.flatMap(({ rows }) => rows.map((row) => metricValue(row, "rank_pace_percent") ?? 0)));
  const option: Option = {
    title: [...key.titles, ...list.map(({ one }, at) => panelTitle(one.engine.name, places[at]!, 56, theme))],
    grid: places,
    xAxis: list.map(({ rows }, at) => axisOptions(theme, at, {
      type: "category", data: rows.map((row) => String(row.rank)), name: "rank", nameGap: 26, splitLine: { show: false },
    })),
    yAxis: list.map((_, at) => axisOptions(theme, at, {
      type: "value", min: 0, max: 50 * Math.ceil(top / 50), ...(top > 400 ? {} : { interval: 50 }), axisLine: { show: false }, axisLabel: axisLabelOptions(theme, (percent) => `${percent} %`),
    })),
    tooltip: tooltipOptions(theme, { trigger: "item" }),
    series: list.flatMap((panel, at) => [...referenceSeries(at, theme), ...hosts.map((host, index) => dotSeries(panel, at, host, hostColour(theme, hosts, index)))]),
  };
  return { height: layout.height + key.height, option };
}

/** Returns a host's colour. With more hosts than colours all have the same, and only tooltips name them. */
const hostColour = (theme: Theme, hosts: string[], at: number): string =>
  (hosts.length <= theme.engines.length ? theme.engines[at] : theme.engines[0]) ?? theme.text;

function hostKey(hosts: string[], width: number, theme: Theme): { titles: object[]; height: number } {
  if (hosts.length < 2 || hosts.length > theme.engines.length) return { titles: [], height: 0 };
  let left = 2, top = 2;
  const titles = hosts.map((host, at) => {
    const name = truncate(host, 24);
    const room = name.length * 6.6 + 30;
    if (left > 2 && left + room > width) [left, top] = [2, top + 20];
    // Braces and bars in a host's name would be markup.
    const text = {
      text: `{mark|} {name|${name.replace(/[{}|]/g, " ")}}`, left, top, padding: 0,
      textStyle: { fontWeight: 400, rich: {
        mark: { width: 10, height: 10, backgroundColor: hostColour(theme, hosts, at), borderRadius: 5 },
        name: { color: theme.text, fontSize: 12, fontWeight: 400, fontFamily: FONT, padding: [0, 0, 0, 3] },
      } },
    };
    left += room;
    return text;
  });
  return { titles, height: top + 22 };
}

/** Returns the lines of the median rank and of outliers. */
function referenceSeries(at: number, theme: Theme): object[] {
  const referenceLine = (y: number, type: string) => ({ yAxis: y, lineStyle: { color: theme.line, type, width: 1 }, label: { show: false } });
  return [{
    type: "scatter", xAxisIndex: at, yAxisIndex: at, data: [], silent: true,
    markLine: { silent: true, symbol: "none", animation: false, data: [referenceLine(100, "solid"), ...APART.map((percent) => referenceLine(percent, "dashed"))] },
  }];
}

function dotSeries({ one, rows }: Panel, at: number, host: string, colour: string): object {
  const hostRows = rows.filter((row) => row.host === host && metricValue(row, "rank_pace_percent") != null);
  return {
    type: "scatter", name: host, xAxisIndex: at, yAxisIndex: at, symbolSize: hostRows.length > 100 ? 4 : 8, itemStyle: { color: colour },
    data: hostRows.map((row) => [String(row.rank), metricValue(row, "rank_pace_percent")]),
    tooltip: { formatter: (item: { dataIndex: number }) => {
      const row = hostRows[item.dataIndex];
      if (!row) return "";
      const words: [string, string][] = [
        ["of the median rank", "rank_pace_percent"], ["ops/s", "rank_ops_per_s"], ["CPUs", "rank_cpus"], ["began after the first", "rank_skew_ns"],
      ];
      return tooltipContent(`${one.engine.name}: rank ${row.rank} of ${row.ranks}, ${row.host}`,
        [["threads", String(row.threads)], ...words.map(([word, name]): [string, string] => [word, formatCell(row, name)])]);
    } },
  };
}
