// A study's figures beside this run's, a row each: hollow what was published, filled what came of it here.

import type { Metric } from "../data";
import { colourOf, markerOf, type Theme } from "../colour";
import type { Option } from "../echarts";
import { control, type Drawing, type Figure } from "../drawing";
import { inUnit, NONE } from "../format";
import { axis, axisLabel, cut, FONT, panels, tip, tooltip } from "../layout";
import { rangeOf, type Engine } from "../model";
import { calledOf, endsOf, figureAt, namesOf, sourceOf, textOf, type Published, type PublishedValue } from "../study";
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

/** What has figures of both; a row that this run has not stands among them, alone. */
function topics(view: View): Topic[] {
  const { model, choice } = view;
  const chosen = chosenEngines(model, choice);
  const { summary, definitions } = model.data;
  const all = summary.study?.published ?? [];
  const place = (name: string) => definitions.findIndex((one) => one.name === name);
  const ownOf = (row: Published, name: string): Own[] => row.own.flatMap((seat) => {
    const metric = figureAt(summary, seat, name);
    const engine = model.cases.find((one) => one.index === seat.group)?.engine;
    if (metric?.value == null || !engine || !(engine.drive || chosen.includes(engine))) return [];
    return [{ engine, label: summary.groups[seat.group]?.label ?? engine.name, metric, value: metric.value }];
  });
  return [...new Set(all.map((row) => row.table))].flatMap((table) => {
    const rows = all.filter((row) => row.table === table), names = namesOf(rows);
    const figures = [...new Set(rows.flatMap((row) => row.values.map((value) => value.figure)))];
    return figures.sort((a, b) => place(a) - place(b)).map((name) => ({
      id: `${table}.${name}`, name, title: rows[0]?.title ?? "",
      unit: definitions.find((one) => one.name === name)?.unit ?? "",
      rows: rows.flatMap((row, at) => {
        const value = row.values.find((value) => value.figure === name);
        return value ? [{ name: names[at] ?? "", row, value, own: ownOf(row, name) }] : [];
      }),
    }));
  }).filter((topic) => topic.rows.some((row) => row.own.length > 0));
}

/** Of data of another size rates and shares say more than times and counts. */
const telling = (all: Topic[]): Topic | undefined =>
  all.find(({ unit }) => unit === "1/s") ?? all.find(({ unit }) => unit.includes("/")) ?? all.find(({ unit }) => unit === "%") ?? all[0];

function draw(view: View): Drawing | null {
  const { study } = view.model.data.summary;
  const all = topics(view);
  if (!study || all.length === 0) return null;
  const several = new Set(all.map((topic) => topic.title)).size > 1;
  const label = (topic: Topic) => (several ? `${topic.title}: ` : "") + calledOf(topic.name);
  const figure = control(view, "published.figure", "figure", all.map((topic) => ({ value: topic.id, label: label(topic) })), telling(all)?.id ?? "");
  const topic = all.find((topic) => topic.id === figure.value) ?? all[0]!;
  const source = sourceOf(study);
  const help = view.model.data.definitions.find((one) => one.name === topic.name)?.help ?? topic.name;
  return {
    title: `Published and measured: ${calledOf(topic.name)}`,
    note: `${topic.title}. Hollow: published, ${source}, on another machine. Filled: this run's medians.`,
    how: ["What was published is in no figure of this run. A whisker is the interval of the median, below six trials from the least to the most.", help],
    controls: [figure], whole: true,
    chart: (width, theme) => chart(topic, source, width, theme),
    table: () => ({
      head: ["row", `published: ${source}`, "this run", "range", "trials", "remarks"], left: [true, false, false, false, false, true],
      rows: topic.rows.flatMap(({ name, row, value, own }) => {
        const remarks = row.doubt ? `doubt: ${row.doubt}` : "";
        if (own.length === 0) return [[name, textOf(value), NONE, NONE, NONE, [row.why_none, remarks].filter(Boolean).join("; ")]];
        return own.map(({ metric, label }) => {
          const range = rangeOf(metric);
          return [name, textOf(value), inUnit(metric.value, metric.unit), range ? `${inUnit(range[0], metric.unit)} to ${inUnit(range[1], metric.unit)}` : NONE, String(metric.n), [label, remarks].filter(Boolean).join("; ")];
        });
      }),
    }),
  };
}

/** Where values stand beside their points. */
const VALUES = 84;

function chart(topic: Topic, source: string, width: number, theme: Theme): { height: number; option: Option } {
  const { rows, unit } = topic;
  const longest = Math.min(40, Math.max(6, ...rows.map((row) => row.name.length)));
  const narrow = Math.floor(Math.min(longest * 6.8 + 12, width * 0.36));
  const place = panels(1, width, { height: rows.length * 26 + 8, least: 120, left: narrow + VALUES, right: VALUES, top: 30, bottom: 30 });
  const values = rows.flatMap((row) => [...endsOf(row.value), ...row.own.map((own) => own.value)]);
  const least = Math.min(...values.filter((value) => value > 0)), most = Math.max(...values);
  const log = values.every((value) => value > 0) && most > 20 * least;
  const scale = log ? { type: "log", min: 10 ** Math.floor(Math.log10(least)), max: 10 ** Math.ceil(Math.log10(most)) } : { type: "value", min: 0, splitNumber: 4 };
  const key = (left: number, text: string) => ({ text, left, top: 4, padding: 0, textStyle: { color: theme.text, fontSize: 12, fontWeight: 400, fontFamily: FONT } });
  const option: Option = {
    title: [key(2, `◇ published: ${source}    ● this run`)],
    grid: place.panels,
    xAxis: [axis(theme, 0, { ...scale, axisLine: { show: false }, axisLabel: axisLabel(theme, (value) => inUnit(value, unit)) })],
    yAxis: [axis(theme, 0, {
      type: "category", inverse: true, data: rows.map((_, at) => String(at)), splitLine: { show: true, lineStyle: { color: theme.grid } },
      axisLabel: { ...axisLabel(theme, (at) => cut(rows[Number(at)]?.name ?? "", Math.floor(narrow / 6.6))), color: theme.text, fontSize: 12, hideOverlap: false, interval: 0, margin: VALUES - 6 },
    })],
    tooltip: tooltip(theme, { trigger: "item" }),
    series: [between(rows, theme), here(rows, theme), there(rows, source, theme), words(rows, theme)],
  };
  return { height: place.height, option };
}

/** What was published is to the left of what was measured. */
const isBelow = ({ value, own }: Row): boolean =>
  own.length > 0 && Math.max(...endsOf(value)) < Math.min(...own.map((one) => one.value));

/** Values at both ends of a row, past its whiskers: what was published on the side where its point is. */
function words(rows: Row[], theme: Theme): object {
  const word = (at: number, x: number, text: string, position: "left" | "right", color: string) => ({
    value: [x, at],
    label: { show: true, position, distance: 11, color, fontFamily: FONT, fontSize: 12, formatter: () => text, textBorderColor: theme.ground, textBorderWidth: 2 },
  });
  const data = rows.flatMap((row, at) => {
    const ends = [...endsOf(row.value), ...row.own.flatMap((own) => [own.value, ...(rangeOf(own.metric) ?? [])])];
    const [one] = row.own, here = !one ? "not here" : row.own.length > 1 ? "" : inUnit(one.value, one.metric.unit);
    const there = textOf(row.value), below = isBelow(row);
    const [least, most] = [Math.min(...ends), Math.max(...ends)];
    return [
      word(at, least, below ? there : here, "left", !below && one ? theme.text : theme.faint),
      word(at, most, below ? here : there, "right", below ? theme.text : theme.faint),
    ];
  });
  return { type: "scatter", silent: true, symbolSize: 0, itemStyle: { opacity: 1 }, data, z: 6, tooltip: { show: false } };
}

function there(rows: Row[], source: string, theme: Theme): object {
  const data = rows.flatMap((row, at) => endsOf(row.value).map((end) => ({ value: [end, at], row })));
  return {
    type: "scatter", name: "published", data, symbol: "diamond", symbolSize: 12, z: 4, emphasis: { disabled: true },
    itemStyle: { color: theme.ground, borderColor: theme.text, borderWidth: 1.6, opacity: 1 },
    tooltip: { formatter: (item: { data: { row: Row } }) => {
      const { row, value, name } = item.data.row;
      return tip(`${name}: published`, [["published", textOf(value)], ["source", source], ...(row.doubt ? [["doubt", row.doubt] as [string, string]] : []), ...(row.why_none ? [["this run", row.why_none] as [string, string]] : [])]);
    } },
  };
}

function here(rows: Row[], theme: Theme): object {
  const data = rows.flatMap((row, at) => row.own.map((own) => ({
    value: [own.value, at], row, own, symbol: markerOf(own.engine), itemStyle: { color: colourOf(own.engine, theme), opacity: 1 },
  })));
  return {
    type: "scatter", name: "this run", data, symbolSize: 9, z: 5, emphasis: { disabled: true },
    tooltip: { formatter: (item: { data: { row: Row; own: Own } }) => {
      const { own } = item.data, { unit } = own.metric, range = rangeOf(own.metric);
      return tip(`${own.label}: this run`, [["this run", inUnit(own.value, unit), colourOf(own.engine, theme)], ["range", range ? `${inUnit(range[0], unit)} to ${inUnit(range[1], unit)}` : "one trial"], ["published", textOf(item.data.row.value)]]);
    } },
  };
}

interface Api {
  value: (dimension: number) => number;
  coord: (point: [number, number]) => [number, number];
}

/** How far the two are from each other, dotted, and the whiskers of what was measured. */
function between(rows: Row[], theme: Theme): object {
  const pairs = rows.flatMap((row, at) => {
    const ends = [...endsOf(row.value), ...row.own.map((own) => own.value)];
    return [{ value: [Math.min(...ends), Math.max(...ends), at, 0] }, ...row.own.flatMap(({ metric, engine }) => {
      const range = rangeOf(metric);
      return range ? [{ value: [...range, at, 1], colour: colourOf(engine, theme) }] : [];
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
