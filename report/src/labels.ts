// Places labels: names at the ends of lines, and texts next to the marks of scatter plots.

import type { Chart, Option } from "./echarts";

const APART = 15;

/** Returns the smallest offsets that move positions at least `apart` from each other, within bounds. */
export function spreadPositions(positions: number[], apart: number, bounds: [low: number, high: number] = [-Infinity, Infinity]): number[] {
  const order = positions.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at);
  let groups = order.map((one) => [one]);
  const groupMiddle = (group: typeof order) => {
    const half = ((group.length - 1) / 2) * apart;
    const mean = group.reduce((sum, one) => sum + one.at, 0) / group.length;
    return Math.max(bounds[0] + half, Math.min(bounds[1] - half, mean));
  };
  // Groups that would overlap are merged, until none do.
  for (let touched = true; touched;) {
    touched = false;
    for (let at = 0; at + 1 < groups.length; at += 1) {
      const [a, b] = [groups[at]!, groups[at + 1]!];
      if (groupMiddle(b) - groupMiddle(a) < ((a.length + b.length) / 2) * apart - 1e-9) {
        groups = [...groups.slice(0, at), [...a, ...b], ...groups.slice(at + 2)];
        touched = true;
        break;
      }
    }
  }
  const moved: number[] = [];
  for (const group of groups) {
    group.forEach((one, at) => {
      moved[one.index] = groupMiddle(group) + (at - (group.length - 1) / 2) * apart - one.at;
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
    spreadPositions(own.map((end) => end.y), APART, [top + 2, top + height + 12]).forEach((offset, at) => {
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

const boxesOverlap = (a: Box, b: Box): boolean =>
  a.left < b.left + b.width && b.left < a.left + a.width && a.top < b.top + b.height && b.top < a.top + a.height;

/** A mark with a text next to it. Names are placed first; a number without room is dropped. */
export interface Spot {
  x: number;
  y: number;
  text: string;
  name: boolean;
}

const MARK = 13, LINE = 14, LETTER = 6.7, AWAY = 3;

/** Places texts so that they cover no mark and no other text: returns the corner of each; null: no room. */
export function placeTexts(spots: Spot[], bounds: Box): ([left: number, top: number] | null)[] {
  const occupied: Box[] = spots.map(({ x, y }) => ({ left: x - MARK / 2, top: y - MARK / 2, width: MARK, height: MARK }));
  const places: ([number, number] | null)[] = spots.map(() => null);
  const order = spots.map((spot, at) => ({ spot, at })).sort((a, b) => Number(b.spot.name) - Number(a.spot.name));
  for (const { spot, at } of order) {
    if (spot.text === "") continue;
    const width = spot.text.length * LETTER, far = MARK / 2 + AWAY;
    const { x, y } = spot;
    const [middle, right, left] = [x - width / 2, x + far, x - far - width], [above, below, level] = [y - far - LINE, y + far - 1, y - LINE / 2];
    const closePlaces: [number, number][] = [
      [middle, above], [right, level], [middle, below], [left, level], [right, above], [left, above], [right, below], [left, below],
    ];
    // A name may be a line further away, rather than cover a mark.
    const furtherPlaces: [number, number][] = [middle, left, right].flatMap((from) => [[from, above - LINE], [from, below + LINE]] as [number, number][]);
    const candidates = spot.name ? [...closePlaces, ...furtherPlaces] : closePlaces;
    const boxAt = ([left, top]: [number, number]): Box => ({ left, top, width, height: LINE });
    const isInside = (one: Box) => one.left >= bounds.left && one.top >= bounds.top
      && one.left + one.width <= bounds.left + bounds.width && one.top + one.height <= bounds.top + bounds.height;
    const inBounds = candidates.filter((one) => isInside(boxAt(one)));
    const clearPlace = inBounds.find((one) => !occupied.some((other) => boxesOverlap(boxAt(one), other)));
    // As a last resort a name may cover a mark, but no other text.
    const words = occupied.slice(spots.length);
    const place = clearPlace ?? (spot.name ? inBounds.find((one) => !words.some((other) => boxesOverlap(boxAt(one), other))) : undefined);
    if (!place) continue;
    places[at] = place;
    occupied.push(boxAt(place));
  }
  return places;
}

interface Scatter {
  type?: string;
  xAxisIndex?: number;
  yAxisIndex?: number;
  data?: { value: [number, number]; text?: string; name?: boolean }[];
}

/** Places the texts next to the marks of scatter plots, after the chart has placed the marks. */
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
    const places = placeTexts(spots, { left: grid.left + 2, top: grid.top - 12, width: grid.width + 18, height: grid.height + 12 });
    for (const index of new Set(items.map((one) => one.index))) {
      const data = (series[index]?.data ?? []).map((item, at) => {
        const spotIndex = items.findIndex((one) => one.index === index && one.at === at), place = places[spotIndex], spot = spots[spotIndex];
        if (!place || !spot) return { ...item, label: { show: false } };
        // The position is relative to the corner of the mark, which is 11 pixels wide.
        return { ...item, label: { show: true, position: [place[0] - spot.x + 5.5, place[1] - spot.y + 5.5] } };
      });
      changes[index] = { data };
    }
  }
  chart.setOption({ series: changes });
}

/** Draws a chart with legible labels. */
export function drawChart(chart: Chart, option: Option): void {
  chart.setOption({ animation: false, textStyle: { fontFamily: "inherit" }, ...option }, { notMerge: true });
  spreadLabels(chart);
  placeLabels(chart);
}
