// What throughput is paid for with: space, tail, CPU. The front joins the points that no
// other beats in both.

import { colourOf, markerOf, type Theme } from "../colour";
import type { Metric } from "../data";
import { paragraphs, trialsNote, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { duration, NONE, ratio, si } from "../format";
import { BELOW, expectedEngines, gapWords, panelsWithWords, threadWords, whyMissing, type Gap } from "../gaps";
import { axis, axisLabel, cut, ENGINES_MAX, FONT, tip, title, tooltip } from "../layout";
import { costOf, opsApart, rateOf, tailOf, threadsText, type Case } from "../model";
import { threadsOf, type View } from "../view";
import { roleControl } from "./choices";
import { apartOf } from "./mixes";

export const tradeoff: Figure = { name: "tradeoff", draw };

interface Spot {
  one: Case;
  x: number;
  y: number;
}

interface Price {
  title: string;
  type: "log" | "value";
  read: (one: Case, role: string, op: string | null) => Metric | null;
  format: (value: number) => string;
  /** Over the operations of all roles: only between engines that did the same work. */
  allRoles?: boolean;
  /** Each operation has its own. */
  byOp?: boolean;
}

const PRICES: Price[] = [
  { title: "space amplification", type: "value", read: (one) => costOf(one, "space_amplification"), format: (value) => `${ratio(value)}×` },
  { title: "p99.9", type: "log", read: (one, role, op) => tailOf(one, role, "p99_9", op), format: duration, byOp: true },
  { title: "CPU time per op", type: "value", allRoles: true, format: duration,
    read: (one) => costOf(one, "cpu_ns_per_op") },
];

/** Points that no other beats in both: more throughput (x) and a lower price (y); from left to right. */
export function front<P extends { x: number; y: number }>(points: P[]): P[] {
  const best: P[] = [];
  for (const point of [...points].sort((a, b) => b.x - a.x || a.y - b.y)) {
    const last = best.at(-1);
    if (!last || point.y < last.y) best.push(point);
  }
  return best.reverse();
}

/** What throughput can be held against, and why something was left out. */
export function pricesOf(cases: Case[]): { prices: Price[]; why: string } {
  if (apartOf(cases) == null) return { prices: PRICES, why: "" };
  const left = PRICES.filter((price) => price.allRoles).map((price) => price.title).join(", ");
  return {
    prices: PRICES.filter((price) => !price.allRoles),
    why: ` Left out: ${left}. It is over the operations of all roles, and the engines' mixes of`
      + " operations differ too much to compare it.",
  };
}

interface Panel {
  price: Price;
  spots: Spot[];
  gaps: Gap[];
}

/** A logarithmic axis has no place for it. */
const hidden = (price: Price, value: number): boolean => price.type === "log" && !(value > 0);

/** Cases without a point, at their numbers of threads where there are several. */
function gapsOf(view: View, cases: Case[], price: Price, role: string): Gap[] {
  const several = threadsOf(view).length > 1;
  return expectedEngines(view).flatMap((engine): Gap[] => {
    const own = cases.filter((one) => one.engine.id === engine.id);
    if (own.length === 0) return [{ engine, at: null, why: whyMissing(undefined, null) }];
    return own.flatMap((one): Gap[] => {
      const rate = rateOf(one, role), metric = price.read(one, role, null), at = several ? one.threads : null;
      if (rate?.value == null) return [{ engine, at, why: whyMissing(one, rate) }];
      if (metric?.value == null) return [{ engine, at, why: whyMissing(one, metric) }];
      return hidden(price, metric.value) ? [{ engine, at, why: BELOW }] : [];
    });
  });
}

function draw(view: View): Drawing | null {
  if (view.work.load) return null;
  const role = roleControl(view, "tradeoff");
  const cases = view.cases.filter((one) => !one.engine.loadGenerator);
  const { prices: kinds, why } = pricesOf(cases);
  const prices = kinds.flatMap((price) => (price.byOp ? opsApart(cases, role.value).map((op): Price =>
    ({ ...price, title: op == null ? price.title : `${op} ${price.title}`, read: (one, role) => price.read(one, role, op) })) : [price]));
  const list = prices.map((price): Panel => ({ price, gaps: gapsOf(view, cases, price, role.value), spots: cases.flatMap((one): Spot[] => {
    const x = rateOf(one, role.value)?.value, y = price.read(one, role.value, null)?.value;
    return x == null || y == null || x <= 0 || hidden(price, y) ? [] : [{ one, x, y }];
  }) })).filter((panel) => panel.spots.length > 1);
  if (list.length === 0) return null;
  return {
    title: "Trade-offs",
    note: `Ops/s of ${role.value} (to the right is better) against what they cost (lower is better). ${trialsNote(view)}.`,
    how: paragraphs("A point for each engine and number of threads, labelled. The grey line joins the points that no other point beats in both.", why),
    controls: [role],
    chart: (width, theme) => chart(list, width, theme),
    table: () => ({
      head: ["engine", "threads", `${role.value} ops/s`, ...prices.map((price) => price.title)],
      rows: cases.map((one) => {
        const rate = rateOf(one, role.value)?.value;
        const costs = prices.map((price) => {
          const value = price.read(one, role.value, null)?.value;
          return value == null ? NONE : price.format(value);
        });
        return [
          one.engine.name, threadsText(one), rate == null ? NONE : si(rate), ...costs,
        ];
      }),
    }),
  };
}

function chart(list: Panel[], width: number, theme: Theme): { height: number; option: Option } {
  // Names of many engines need all the width.
  const many = new Set(list.flatMap(({ spots }) => spots.map((spot) => spot.one.engine))).size > ENGINES_MAX;
  const space = { height: 230, least: 200, left: 58, right: 26, most: many ? 1 : 3 };
  const place = panelsWithWords(list.map(({ gaps }) => gapWords(gaps, threadWords)), width, space, theme);
  const option: Option = {
    title: [...list.map(({ price }, at) => title(price.title, place.panels[at]!, space.left, theme)), ...place.titles],
    grid: place.panels,
    xAxis: list.map((_, at) => axis(theme, at, {
      type: "value", min: 0, splitNumber: 3, splitLine: { show: false }, name: "ops/s →", nameGap: 26, axisLabel: axisLabel(theme, si),
    })),
    yAxis: list.map(({ price }, at) => axis(theme, at, {
      type: price.type, ...(price.type === "value" ? { min: 0 } : {}), splitNumber: 4, axisLine: { show: false }, axisLabel: axisLabel(theme, price.format),
    })),
    tooltip: tooltip(theme, { trigger: "item" }),
    series: list.flatMap(({ price, spots }, at) => [frontOf(spots, at, theme), ...scatters(price, spots, at, theme)]),
  };
  return { height: place.height, option };
}

function frontOf(spots: Spot[], at: number, theme: Theme): object {
  return {
    type: "line", silent: true, xAxisIndex: at, yAxisIndex: at, symbol: "none", z: 1,
    data: front(spots).map(({ x, y }) => [x, y]),
    lineStyle: { color: theme.line, width: 2, type: "dashed" }, tooltip: { show: false },
  };
}

function scatters(price: Price, spots: Spot[], at: number, theme: Theme): object[] {
  const engines = [...new Set(spots.map((spot) => spot.one.engine))];
  const several = new Set(spots.map((spot) => spot.one.threads)).size > 1;
  return engines.map((engine) => {
    const own = spots.filter((spot) => spot.one.engine === engine);
    const rightmost = own.reduce((best, spot) => (spot.x > best.x ? spot : best));
    const words = (spot: Spot): string => {
      const threads = several && spot.one.threads != null ? String(spot.one.threads) : "";
      return spot === rightmost ? `${cut(engine.name)} ${threads}`.trim() : threads;
    };
    return {
      type: "scatter", name: engine.name, xAxisIndex: at, yAxisIndex: at, symbol: markerOf(engine), symbolSize: 11, z: 3, emphasis: { disabled: true },
      itemStyle: { color: colourOf(engine, theme), opacity: 1 },
      // Where the words stand is known when the marks are drawn: placeLabels.
      data: own.map((spot) => ({ value: [spot.x, spot.y], spot, text: words(spot), name: spot === rightmost })),
      label: { show: false, color: colourOf(engine, theme), fontFamily: FONT, fontSize: 11, fontWeight: 600, align: "left", verticalAlign: "top",
        textBorderColor: theme.ground, textBorderWidth: 2,
        formatter: (item: { data: { text: string } }) => item.data.text },
      tooltip: { formatter: (item: { data: { spot: Spot } }) => {
        const { spot } = item.data;
        return tip(`${engine.name}, ${spot.one.threads ?? 1} threads`, [["ops/s", si(spot.x), colourOf(engine, theme)], [price.title, price.format(spot.y)]]);
      } },
    };
  });
}
