// Names at the ends of lines, moved apart where lines end close to each other.

import type { Chart } from "./echarts";

const APART = 15;

/** Offsets that move positions at least `apart` from each other and their middle not at all. */
export function spread(positions: number[], apart: number): number[] {
  const order = positions.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at);
  const moved: number[] = [];
  for (let from = 0; from < order.length;) {
    let to = from + 1;
    while (to < order.length && order[to]!.at - order[to - 1]!.at < apart) to += 1;
    const group = order.slice(from, to);
    const middle = group.reduce((sum, one) => sum + one.at, 0) / group.length;
    group.forEach((one, at) => {
      moved[one.index] = middle + (at - (group.length - 1) / 2) * apart - one.at;
    });
    from = to;
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
  const changes: object[] = series.map(() => ({}));
  for (const panel of new Set(ends.map((end) => end.panel))) {
    const own = ends.filter((end) => end.panel === panel);
    spread(own.map((end) => end.y), APART).forEach((offset, at) => {
      const end = own[at];
      if (end && Math.abs(offset) > 0.5) changes[end.index] = { endLabel: { offset: [0, offset] } };
    });
  }
  chart.setOption({ series: changes });
}
