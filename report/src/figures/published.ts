// Figure: a study's figures next to this run's, row by row: published ones are hollow, measured ones filled.

import type { Metric } from "../data";
import { engineColour, markerSymbol, type Theme } from "../colour";
import type { Option } from "../echarts";
import { createControl, type Drawing, type Figure } from "../drawing";
import { formatValue, NONE } from "../format";
import { axisOptions, axisLabelOptions, truncate, FONT, layOutPanels, tooltipContent, tooltipOptions } from "../layout";
import { describeTrials, metricRange, type Engine } from "../model";
import { figureLabel, publishedEnds, findSeatMetric, rowNames, studySource, formatPublished, type Published, type PublishedValue } from "../study";
import { chosenEngines, type View } from "../view";

export const published: Figure = { name: "published", drive: true, draw };

interface Own {
  engine: Engine;
  label: string;
  metric: Metric;
  value: number;
}

interface Row {
  name: string;
  row: Published;
  value: PublishedValue;
  own: Own[];
}

/** A figure of one of the study's tables. */
interface Topic {
  id: string;
  name: string;
  unit: string;
  title: string;
  rows: Row[];
}

/** Lists the topics with figures of both; a topic's rows may include some that this run lacks. */
function listTopics(view: View): Topic[] {
  const { model, choice } = view;
  const chosen = chosenEngines(model, choice);
  const { summary, definitions } = model.data;
  const all = summary.study?.published ?? [];
  const definitionIndex = (name: string) => definitions.findIndex((one) => one.name === name);
  const measuredValues = (row: Published, name: string): Own[] => row.own.flatMap((seat) => {
    const metric = findSeatMetric(summary, seat, name);
    const engine = model.cases.find((one) => one.index === seat.group)?.engine;
    if (metric?.value == null || !engine || !(engine.drive || chosen.includes(engine))) return [];
    return [{ engine, label: summary.groups[seat.group]?.label ?? engine.name, metric, value: metric.value }];
  });
  return [...new Set(all.map((row) => row.table))].flatMap((table) => {
    const rows = all.filter((row) => row.table === table), names = rowNames(rows);
    const figures = [...new Set(rows.flatMap((row) => row.values.map((value) => value.figure)))];
    return figures.sort((a, b) => definitionIndex(a) - definitionIndex(b)).map((name) => ({
      id: `${table}.${name}`, name, title: rows[0]?.title ?? "",
      unit: definitions.find((one) => one.name === name)?.unit ?? "",
      rows: rows.flatMap((row, at) => {
        const value = row.values.find((value) => value.figure === name);
        return value ? [{ name: names[at] ?? "", row, value, own: measuredValues(row, name) }] : [];
      }),
    }));
  }).filter((topic) => topic.rows.some((row) => row.own.length > 0));
}

/** Returns the default topic: rates and shares are more comparable than times and counts if the data's size differs. */
const defaultTopic = (all: Topic[]): Topic | undefined =>
  all.find(({ unit }) => unit === "1/s") ?? all.find(({ unit }) => unit.includes("/")) ?? all.find(({ unit }) => unit === "%") ?? all[0];

function draw(view: View): Drawing | null {
  const { study } = view.model.data.summary;
  const all = listTopics(view);
  if (!study || all.length === 0) return null;
  const several = new Set(all.map((topic) => topic.title)).size > 1;
  const topicLabel = (topic: Topic) => (several ? `${topic.title}: ` : "") + figureLabel(topic.name);
  const figure = createControl(view, "published.figure", "figure", all.map((topic) => ({ value: topic.id, label: topicLabel(topic) })), defaultTopic(all)?.id ?? "");
  const topic = all.find((topic) => topic.id === figure.value) ?? all[0]!;
  const source = studySource(study);
  const help = view.model.data.definitions.find((one) => one.name === topic.name)?.help ?? topic.name;
  return {
    title: `Published and measured: ${figureLabel(topic.name)}`,
    note: `${topic.title}. Hollow: published, ${source}, on another machine. Filled: this run's medians.`,
    how: ["What was published is in no figure of this run. A whisker is the interval of the median, below six trials from the least to the most.", help],
    controls: [figure], whole: true,
    chart: (width, theme) => publishedChart(topic, source, width, theme),
    table: () => ({
      head: ["row", `published: ${source}`, "this run", "range", "trials", "remarks"], left: [true, false, false, false, false, true],
      rows: topic.rows.flatMap(({ name, row, value, own }) => {
        const remarks = row.doubt ? `doubt: ${row.doubt}` : "";
        if (own.length === 0) return [[name, formatPublished(value), NONE, NONE, NONE, [row.why_none, remarks].filter(Boolean).join("; ")]];
        return own.map(({ metric, label }) => {
          const range = metricRange(metric);
          return [name, formatPublished(value), formatValue(metric.value, metric.unit), range ? `${formatValue(range[0], metric.unit)} to ${formatValue(range[1], metric.unit)}` : NONE, String(metric.n), [label, remarks].filter(Boolean).join("; ")];
        });
      }),
    }),
  };
}

/** The width for values next to their points. */
const VALUES = 84;

function publishedChart(topic: Topic, source: string, width: number, theme: Theme): { height: number; option: Option } {
  const { rows, unit } = topic;
  const longest = Math.min(40, Math.max(6, ...rows.map((row) => row.name.length)));
  const narrow = Math.floor(Math.min(longest * 6.8 + 12, width * 0.36));
  const layout = layOutPanels(1, width, { height: rows.length * 26 + 8, least: 120, left: narrow + VALUES, right: VALUES, top: 30, bottom: 30 });
  const values = rows.flatMap((row) => [...publishedEnds(row.value), ...row.own.map((own) => own.value)]);
  const minimum = Math.min(...values.filter((value) => value > 0)), maximum = Math.max(...values);
  const log = values.every((value) => value > 0) && maximum > 20 * minimum;
  const scale = log ? { type: "log", min: 10 ** Math.floor(Math.log10(minimum)), max: 10 ** Math.ceil(Math.log10(maximum)) } : { type: "value", min: 0, splitNumber: 4 };
  const keyTitle = (left: number, text: string) => ({ text, left, top: 4, padding: 0, textStyle: { color: theme.text, fontSize: 12, fontWeight: 400, fontFamily: FONT } });
  const option: Option = {
    title: [keyTitle(2, `◇ published: ${source}    ● this run`)],
    grid: layout.panels,
    xAxis: [axisOptions(theme, 0, { ...scale, axisLine: { show: false }, axisLabel: axisLabelOptions(theme, (value) => formatValue(value, unit)) })],
    yAxis: [axisOptions(theme, 0, {
      type: "category", inverse: true, data: rows.map((_, at) => String(at)), splitLine: { show: true, lineStyle: { color: theme.grid } },
      axisLabel: { ...axisLabelOptions(theme, (at) => truncate(rows[Number(at)]?.name ?? "", Math.floor(narrow / 6.6))), color: theme.text, fontSize: 12, hideOverlap: false, interval: 0, margin: VALUES - 6 },
    })],
    tooltip: tooltipOptions(theme, { trigger: "item" }),
    series: [distanceSeries(rows, theme), measuredSeries(rows, theme), publishedSeries(rows, source, theme), valueLabelSeries(rows, theme)],
  };
  return { height: layout.height, option };
}

/** Whether the published value is to the left of the measured one. */
const isBelow = ({ value, own }: Row): boolean =>
  own.length > 0 && Math.max(...publishedEnds(value)) < Math.min(...own.map((one) => one.value));

/** Returns the series of value labels at both ends of a row, past its whiskers, each on the side of its point. */
function valueLabelSeries(rows: Row[], theme: Theme): object {
  const valueLabel = (at: number, x: number, text: string, position: "left" | "right", color: string) => ({
    value: [x, at],
    label: { show: true, position, distance: 11, color, fontFamily: FONT, fontSize: 12, formatter: () => text, textBorderColor: theme.ground, textBorderWidth: 2 },
  });
  const data = rows.flatMap((row, at) => {
    const ends = [...publishedEnds(row.value), ...row.own.flatMap((own) => [own.value, ...(metricRange(own.metric) ?? [])])];
    const [one] = row.own, measuredText = !one ? "not here" : row.own.length > 1 ? "" : formatValue(one.value, one.metric.unit);
    const publishedText = formatPublished(row.value), below = isBelow(row);
    const [minimum, maximum] = [Math.min(...ends), Math.max(...ends)];
    return [
      valueLabel(at, minimum, below ? publishedText : measuredText, "left", !below && one ? theme.text : theme.faint),
      valueLabel(at, maximum, below ? measuredText : publishedText, "right", below ? theme.text : theme.faint),
    ];
  });
  return { type: "scatter", silent: true, symbolSize: 0, itemStyle: { opacity: 1 }, data, z: 6, tooltip: { show: false } };
}

function publishedSeries(rows: Row[], source: string, theme: Theme): object {
  const data = rows.flatMap((row, at) => publishedEnds(row.value).map((end) => ({ value: [end, at], row })));
  return {
    type: "scatter", name: "published", data, symbol: "diamond", symbolSize: 12, z: 4, emphasis: { disabled: true },
    itemStyle: { color: theme.ground, borderColor: theme.text, borderWidth: 1.6, opacity: 1 },
    tooltip: { formatter: (item: { data: { row: Row } }) => {
      const { row, value, name } = item.data.row;
      return tooltipContent(`${name}: published`, [["published", formatPublished(value)], ["source", source], ...(row.doubt ? [["doubt", row.doubt] as [string, string]] : []), ...(row.why_none ? [["this run", row.why_none] as [string, string]] : [])]);
    } },
  };
}

function measuredSeries(rows: Row[], theme: Theme): object {
  const data = rows.flatMap((row, at) => row.own.map((own) => ({
    value: [own.value, at], row, own, symbol: markerSymbol(own.engine), itemStyle: { color: engineColour(own.engine, theme), opacity: 1 },
  })));
  return {
    type: "scatter", name: "this run", data, symbolSize: 9, z: 5, emphasis: { disabled: true },
    tooltip: { formatter: (item: { data: { row: Row; own: Own } }) => {
      const { own } = item.data, { unit } = own.metric, range = metricRange(own.metric);
      return tooltipContent(`${own.label}: this run`, [["this run", formatValue(own.value, unit), engineColour(own.engine, theme)], ["range", range ? `${formatValue(range[0], unit)} to ${formatValue(range[1], unit)}` : describeTrials(own.metric)], ["published", formatPublished(item.data.row.value)]]);
    } },
  };
}

interface Api {
  value: (dimension: number) => number;
  coord: (point: [number, number]) => [number, number];
}

/** Returns the series of dotted lines between both values, and of the whiskers of measured ones. */
function distanceSeries(rows: Row[], theme: Theme): object {
  const pairs = rows.flatMap((row, at) => {
    const ends = [...publishedEnds(row.value), ...row.own.map((own) => own.value)];
    return [{ value: [Math.min(...ends), Math.max(...ends), at, 0] }, ...row.own.flatMap(({ metric, engine }) => {
      const range = metricRange(metric);
      return range ? [{ value: [...range, at, 1], colour: engineColour(engine, theme) }] : [];
    })];
  });
  return {
    type: "custom", silent: true, z: 2, data: pairs, encode: { x: [0, 1], y: 2 },
    renderItem: ({ dataIndex }: { dataIndex: number }, api: Api) => {
      const [x1, y] = api.coord([api.value(0), api.value(2)]), [x2] = api.coord([api.value(1), api.value(2)]);
      const colour = (pairs[dataIndex] as { colour?: string }).colour;
      const stroke = colour ? { stroke: colour, lineWidth: 1.5 } : { stroke: theme.line, lineWidth: 1.2, lineDash: [2, 3] };
      const line = (x1: number, y1: number, x2: number, y2: number) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: stroke });
      const ends = colour ? [line(x1, y - 4, x1, y + 4), line(x2, y - 4, x2, y + 4)] : [];
      return { type: "group", children: [line(x1, y, x2, y), ...ends] };
    },
  };
}
