// Figure: throughput against its price in space, tail latency and CPU. The front joins the points that no
// other beats in both.

import { engineColour, markerSymbol, type Theme } from "../colour";
import type { Metric } from "../data";
import { nonEmptyTexts, trialsNote, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { formatDuration, NONE, formatRatio, formatSi } from "../format";
import { ZERO_ON_LOG_AXIS, expectedEngines, formatGaps, layOutPanelsWithNotes, formatThreads, missingReason, type Gap } from "../gaps";
import { axisOptions, axisLabelOptions, truncate, ENGINES_MAX, FONT, tooltipContent, panelTitle, tooltipOptions } from "../layout";
import { costMetric, latencyOps, rateMetric, tailMetric, threadsText, type Case } from "../model";
import { threadCounts, type View } from "../view";
import { roleControl } from "./choices";
import { incomparableReason } from "./mixes";

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
  /** Whether it is over the operations of all roles, and so comparable only between engines with the same mix. */
  allRoles?: boolean;
  /** Whether each operation has its own price. */
  byOp?: boolean;
}

const PRICES: Price[] = [
  { title: "space amplification", type: "value", read: (one) => costMetric(one, "space_amplification"), format: (value) => `${formatRatio(value)}×` },
  { title: "p99.9", type: "log", read: (one, role, op) => tailMetric(one, role, "p99_9", op), format: formatDuration, byOp: true },
  { title: "CPU time per op", type: "value", allRoles: true, format: formatDuration,
    read: (one) => costMetric(one, "cpu_ns_per_op") },
];

/** Returns the points that no other beats in both throughput (x) and price (y), from left to right. */
export function paretoFront<P extends { x: number; y: number }>(points: P[]): P[] {
  const best: P[] = [];
  for (const point of [...points].sort((a, b) => b.x - a.x || a.y - b.y)) {
    const last = best.at(-1);
    if (!last || point.y < last.y) best.push(point);
  }
  return best.reverse();
}

/** Returns the comparable prices, and why others were left out. */
export function comparablePrices(cases: Case[]): { prices: Price[]; why: string } {
  if (incomparableReason(cases) == null) return { prices: PRICES, why: "" };
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

/** Whether a value has no place on the price's axis: a zero on a logarithmic one. */
const isHidden = (price: Price, value: number): boolean => price.type === "log" && !(value > 0);

/** Returns the cases without a point, with their numbers of threads if there are several. */
function spotGaps(view: View, cases: Case[], price: Price, role: string): Gap[] {
  const several = threadCounts(view).length > 1;
  return expectedEngines(view).flatMap((engine): Gap[] => {
    const own = cases.filter((one) => one.engine.id === engine.id);
    if (own.length === 0) return [{ engine, at: null, why: missingReason(undefined, null) }];
    return own.flatMap((one): Gap[] => {
      const rate = rateMetric(one, role), metric = price.read(one, role, null), at = several ? one.threads : null;
      if (one.group.void != null) return [{ engine, at, why: `void: ${one.group.void}` }];
      if (rate?.value == null) return [{ engine, at, why: missingReason(one, rate) }];
      if (metric?.value == null) return [{ engine, at, why: missingReason(one, metric) }];
      return isHidden(price, metric.value) ? [{ engine, at, why: ZERO_ON_LOG_AXIS }] : [];
    });
  });
}

function draw(view: View): Drawing | null {
  if (view.work.load) return null;
  const role = roleControl(view, "tradeoff");
  const all = view.cases.filter((one) => !one.engine.loadGenerator);
  // A void figure beats nothing.
  const cases = all.filter((one) => one.group.void == null);
  const { prices: kinds, why } = comparablePrices(cases);
  const prices = kinds.flatMap((price) => (price.byOp ? latencyOps(cases, role.value).map((op): Price =>
    ({ ...price, title: op == null ? price.title : `${op} ${price.title}`, read: (one, role) => price.read(one, role, op) })) : [price]));
  const list = prices.map((price): Panel => ({ price, gaps: spotGaps(view, all, price, role.value), spots: cases.flatMap((one): Spot[] => {
    const x = rateMetric(one, role.value)?.value, y = price.read(one, role.value, null)?.value;
    return x == null || y == null || x <= 0 || isHidden(price, y) ? [] : [{ one, x, y }];
  }) })).filter((panel) => panel.spots.length > 1);
  if (list.length === 0) return null;
  return {
    title: "Trade-offs",
    note: `Ops/s of ${role.value} (to the right is better) against what they cost (lower is better). ${trialsNote(view)}.`,
    how: nonEmptyTexts("A point for each engine and number of threads, labelled. The grey line joins the points that no other point beats in both.", why),
    controls: [role],
    chart: (width, theme) => tradeoffChart(list, width, theme),
    table: () => ({
      head: ["engine", "threads", `${role.value} ops/s`, ...prices.map((price) => price.title)],
      rows: cases.map((one) => {
        const rate = rateMetric(one, role.value)?.value;
        const costs = prices.map((price) => {
          const value = price.read(one, role.value, null)?.value;
          return value == null ? NONE : price.format(value);
        });
        return [
          one.engine.name, threadsText(one), rate == null ? NONE : formatSi(rate), ...costs,
        ];
      }),
    }),
  };
}

function tradeoffChart(list: Panel[], width: number, theme: Theme): { height: number; option: Option } {
  // Names of many engines need the full width.
  const many = new Set(list.flatMap(({ spots }) => spots.map((spot) => spot.one.engine))).size > ENGINES_MAX;
  const space = { height: 230, least: 200, left: 58, right: 26, most: many ? 1 : 3 };
  const layout = layOutPanelsWithNotes(list.map(({ gaps }) => formatGaps(gaps, formatThreads)), width, space, theme);
  const option: Option = {
    title: [...list.map(({ price }, at) => panelTitle(price.title, layout.panels[at]!, space.left, theme)), ...layout.titles],
    grid: layout.panels,
    xAxis: list.map((_, at) => axisOptions(theme, at, {
      type: "value", min: 0, splitNumber: 3, splitLine: { show: false }, name: "ops/s →", nameGap: 26, axisLabel: axisLabelOptions(theme, formatSi),
    })),
    yAxis: list.map(({ price }, at) => axisOptions(theme, at, {
      type: price.type, ...(price.type === "value" ? { min: 0 } : {}), splitNumber: 4, axisLine: { show: false }, axisLabel: axisLabelOptions(theme, price.format),
    })),
    tooltip: tooltipOptions(theme, { trigger: "item" }),
    series: list.flatMap(({ price, spots }, at) => [frontSeries(spots, at, theme), ...spotSeries(price, spots, at, theme)]),
  };
  return { height: layout.height, option };
}

function frontSeries(spots: Spot[], at: number, theme: Theme): object {
  return {
    type: "line", silent: true, xAxisIndex: at, yAxisIndex: at, symbol: "none", z: 1,
    data: paretoFront(spots).map(({ x, y }) => [x, y]),
    lineStyle: { color: theme.line, width: 2, type: "dashed" }, tooltip: { show: false },
  };
}

function spotSeries(price: Price, spots: Spot[], at: number, theme: Theme): object[] {
  const engines = [...new Set(spots.map((spot) => spot.one.engine))];
  const several = new Set(spots.map((spot) => spot.one.threads)).size > 1;
  return engines.map((engine) => {
    const own = spots.filter((spot) => spot.one.engine === engine);
    const rightmost = own.reduce((best, spot) => (spot.x > best.x ? spot : best));
    const spotLabel = (spot: Spot): string => {
      const threads = several && spot.one.threads != null ? String(spot.one.threads) : "";
      return spot === rightmost ? `${truncate(engine.name)} ${threads}`.trim() : threads;
    };
    return {
      type: "scatter", name: engine.name, xAxisIndex: at, yAxisIndex: at, symbol: markerSymbol(engine), symbolSize: 11, z: 3, emphasis: { disabled: true },
      itemStyle: { color: engineColour(engine, theme), opacity: 1 },
      // placeLabels places the texts after the marks are drawn.
      data: own.map((spot) => ({ value: [spot.x, spot.y], spot, text: spotLabel(spot), name: spot === rightmost })),
      label: { show: false, color: engineColour(engine, theme), fontFamily: FONT, fontSize: 11, fontWeight: 600, align: "left", verticalAlign: "top",
        textBorderColor: theme.ground, textBorderWidth: 2,
        formatter: (item: { data: { text: string } }) => item.data.text },
      tooltip: { formatter: (item: { data: { spot: Spot } }) => {
        const { spot } = item.data;
        return tooltipContent(`${engine.name}, ${spot.one.threads ?? 1} threads`, [["ops/s", formatSi(spot.x), engineColour(engine, theme)], [price.title, price.format(spot.y)]]);
      } },
    };
  });
}
