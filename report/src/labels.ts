// Names at the ends of lines, moved apart where lines end close to each other.

import type { Chart } from "./echarts";

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
