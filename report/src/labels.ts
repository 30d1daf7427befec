// Names at the ends of lines, moved apart where lines end close to each other.

import type { Chart, Option } from "./echarts";

const APART = 15;

/** Offsets that move positions at least `apart` from each other, as little as can be, within bounds. */
export function spread(positions: number[], apart: number, bounds: [low: number, high: number] = [-Infinity, Infinity]): number[] {
  const order = positions.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at);
  let groups = order.map((one) => [one]);
  const middle = (group: typeof order) => {
    const half = ((group.length - 1) / 2) * apart;
    const mean = group.reduce((sum, one) => sum + one.at, 0) / group.length;
    return Math.max(bounds[0] + half, Math.min(bounds[1] - half, mean));
  };
  // Groups that would touch become one, until none do.
  for (let touched = true; touched;) {
    touched = false;
    for (let at = 0; at + 1 < groups.length; at += 1) {
      const [a, b] = [groups[at]!, groups[at + 1]!];
      if (middle(b) - middle(a) < ((a.length + b.length) / 2) * apart - 1e-9) {
        groups = [...groups.slice(0, at), [...a, ...b], ...groups.slice(at + 2)];
        touched = true;
        break;
      }
    }
  }
  const moved: number[] = [];
  for (const group of groups) {
    group.forEach((one, at) => {
      moved[one.index] = middle(group) + (at - (group.length - 1) / 2) * apart - one.at;
    });
  }
  return moved;
}

interface Series {
  endLabel?: { show?: boolean };
  data?: unknown[];
  xAxisIndex?: number;
  yAxisIndex?: number;
}

export function spreadLabels(chart: Chart): void {
  const series = (chart.getOption()["series"] ?? []) as Series[];
  const ends = series.flatMap((one, index) => {
    const last = one.endLabel?.show ? one.data?.at(-1) : undefined;
    const value = (Array.isArray(last) ? last : (last as { value?: unknown[] } | undefined)?.value) as number[] | undefined;
    if (!value) return [];
    const axis = { xAxisIndex: one.xAxisIndex ?? 0, yAxisIndex: one.yAxisIndex ?? 0 };
    const point = chart.convertToPixel(axis, value as [number, number]) as number[] | undefined;
    const y = point?.[1];
    return y == null || Number.isNaN(y) ? [] : [{ index, panel: axis.yAxisIndex, y }];
  });
  const grids = (chart.getOption()["grid"] ?? []) as { top?: number; height?: number }[];
  const changes: object[] = series.map(() => ({}));
  for (const panel of new Set(ends.map((end) => end.panel))) {
    const own = ends.filter((end) => end.panel === panel);
    const top = Number(grids[panel]?.top ?? 0), height = Number(grids[panel]?.height ?? 1e4);
    spread(own.map((end) => end.y), APART, [top + 2, top + height + 12]).forEach((offset, at) => {
      const end = own[at];
      if (end && Math.abs(offset) > 0.5) changes[end.index] = { endLabel: { offset: [0, offset] } };
    });
  }
  chart.setOption({ series: changes });
}

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

const touch = (a: Box, b: Box): boolean =>
  a.left < b.left + b.width && b.left < a.left + a.width && a.top < b.top + b.height && b.top < a.top + a.height;

/** A mark with words that are to stand beside it; names give way to nothing, numbers to all. */
export interface Spot {
  x: number;
  y: number;
  text: string;
  name: boolean;
}

const MARK = 13, LINE = 14, LETTER = 6.7, AWAY = 3;

/** Where words stand so that they lie on no mark and on no other words: the corner of each; null: nowhere. */
export function placed(spots: Spot[], bounds: Box): ([left: number, top: number] | null)[] {
  const taken: Box[] = spots.map(({ x, y }) => ({ left: x - MARK / 2, top: y - MARK / 2, width: MARK, height: MARK }));
  const places: ([number, number] | null)[] = spots.map(() => null);
  const order = spots.map((spot, at) => ({ spot, at })).sort((a, b) => Number(b.spot.name) - Number(a.spot.name));
  for (const { spot, at } of order) {
    if (spot.text === "") continue;
    const width = spot.text.length * LETTER, far = MARK / 2 + AWAY;
    const { x, y } = spot;
    const [middle, right, left] = [x - width / 2, x + far, x - far - width], [above, below, beside] = [y - far - LINE, y + far - 1, y - LINE / 2];
    const close: [number, number][] = [
      [middle, above], [right, beside], [middle, below], [left, beside], [right, above], [left, above], [right, below], [left, below],
    ];
    // A name may stand a line further away, before it lies on a mark.
    const further: [number, number][] = [middle, left, right].flatMap((from) => [[from, above - LINE], [from, below + LINE]] as [number, number][]);
    const tries = spot.name ? [...close, ...further] : close;
    const box = ([left, top]: [number, number]): Box => ({ left, top, width, height: LINE });
    const inside = (one: Box) => one.left >= bounds.left && one.top >= bounds.top
      && one.left + one.width <= bounds.left + bounds.width && one.top + one.height <= bounds.top + bounds.height;
    const free = tries.filter((one) => inside(box(one)));
    const clear = free.find((one) => !taken.some((other) => touch(box(one), other)));
    // A name may lie on a mark, if need be, but on no other words.
    const words = taken.slice(spots.length);
    const place = clear ?? (spot.name ? free.find((one) => !words.some((other) => touch(box(one), other))) : undefined);
    if (!place) continue;
    places[at] = place;
    taken.push(box(place));
  }
  return places;
}

interface Scatter {
  type?: string;
  xAxisIndex?: number;
  yAxisIndex?: number;
  data?: { value: [number, number]; text?: string; name?: boolean }[];
}

/** Words beside the marks of scatter plots, once it is known where those are. */
export function placeLabels(chart: Chart): void {
  const series = (chart.getOption()["series"] ?? []) as Scatter[];
  const grids = (chart.getOption()["grid"] ?? []) as Box[];
  const changes: object[] = series.map(() => ({}));
  const labelled = series.flatMap((one, index) => (one.type === "scatter" && one.data?.some((item) => item.text != null) ? [index] : []));
  if (labelled.length === 0) return;
  for (const panel of new Set(labelled.map((index) => series[index]?.yAxisIndex ?? 0))) {
    const grid = grids[panel];
    if (!grid) continue;
    const items = labelled.filter((index) => (series[index]?.yAxisIndex ?? 0) === panel)
      .flatMap((index) => (series[index]?.data ?? []).map((item, at) => ({ index, at, item })));
    const spots = items.map(({ item }): Spot => {
      const [x = 0, y = 0] = chart.convertToPixel({ xAxisIndex: panel, yAxisIndex: panel }, item.value) as number[];
      return { x, y, text: item.text ?? "", name: item.name === true };
    });
    const places = placed(spots, { left: grid.left + 2, top: grid.top - 12, width: grid.width + 18, height: grid.height + 12 });
    for (const index of new Set(items.map((one) => one.index))) {
      const data = (series[index]?.data ?? []).map((item, at) => {
        const which = items.findIndex((one) => one.index === index && one.at === at), place = places[which], spot = spots[which];
        if (!place || !spot) return { ...item, label: { show: false } };
        // From the corner of the mark, which is 11 pixels wide.
        return { ...item, label: { show: true, position: [place[0] - spot.x + 5.5, place[1] - spot.y + 5.5] } };
      });
      changes[index] = { data };
    }
  }
  chart.setOption({ series: changes });
}

/** A chart's option with its words where they are legible. */
export function drawChart(chart: Chart, option: Option): void {
  chart.setOption({ animation: false, textStyle: { fontFamily: "inherit" }, ...option }, { notMerge: true });
  spreadLabels(chart);
  placeLabels(chart);
}
