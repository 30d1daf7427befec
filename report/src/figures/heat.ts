// How long operations took, over time: a map for each engine.

import type { Heat } from "../data";
import type { Theme } from "../colour";
import { control, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { clock, duration, grouped, NONE } from "../format";
import { hiccupNote } from "../hiccups";
import { axis, axisLabel, panels, tip, title, tooltip } from "../layout";
import type { Engine } from "../model";
import type { View } from "../view";
import { atThreads, roleControl, threadsControl } from "./choices";

export const heat: Figure = { name: "heat", drive: true, draw };

/** What is drawn of a map, whatever its counts are of. */
type Cells = Pick<Heat, "column_s" | "columns" | "rows_per_decade" | "cells">;

interface Map {
  engine: Engine;
  heat: Cells;
}

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "heat"), role = roleControl(view, "heat");
  const kinds = [...new Set(view.model.data.heats.filter((heat) => heat.phase === view.work.phase).map((heat) => heat.kind))];
  const kind = control(view, "heat.kind", "time", kinds.map((name) => ({ value: name, label: name })), kinds.includes("response") ? "response" : "service");
  const maps = atThreads(view, threads).filter((one) => !one.engine.harness).flatMap((one) =>
    view.model.data.heats
      .filter((heat) => heat.group === one.index && heat.phase === view.work.phase && heat.role === role.value && heat.kind === kind.value && heat.columns > 2)
      .map((heat) => ({ engine: one.engine, heat })));
  if (maps.length === 0) return null;
  return {
    title: "Latency over time",
    note: `How many operations of ${role.value} (darker: more, by factors) took how long, over the time of the phase; lower is better. One trial each: the nearest to the median. ${hiccupNote(view.model.data.summary.hiccups)}`.trim(),
    controls: [threads, role, kind],
    chart: (width, theme) => chart(maps, width, theme, "operations"),
    table: () => ({
      head: ["engine", "from", "operations", "fastest", "median", "slowest"],
      rows: maps.flatMap(({ engine, heat }) => columnsOf(heat).map((column) => [
        engine.name, `${(column.at * heat.column_s).toFixed(1)} s`, grouped(column.count),
        ...[column.low, column.middle, column.high].map((row) => (row == null ? NONE : duration(fromRow(heat, row)))),
      ])),
    }),
  };
}

export const fromRow = (heat: Cells, row: number): number => 10 ** ((row + 0.5) / heat.rows_per_decade);

export interface Column {
  at: number;
  count: number;
  low: number | null;
  middle: number | null;
  high: number | null;
}

/** What a map's columns say in numbers. */
export function columnsOf(heat: Cells): Column[] {
  return Array.from({ length: heat.columns }, (_, at) => {
    const cells = heat.cells.filter(([column]) => column === at).sort((a, b) => a[1] - b[1]);
    const count = cells.reduce((sum, [, , n]) => sum + n, 0);
    let below = 0;
    const middle = cells.find(([, , n]) => (below += n) >= count / 2);
    return { at, count, low: cells[0]?.[1] ?? null, middle: middle?.[1] ?? null, high: cells.at(-1)?.[1] ?? null };
  });
}

export function chart(maps: Map[], width: number, theme: Theme, of: string): { height: number; option: Option } {
  const space = { height: 190, least: 250, left: 58, right: 16, bottom: 30, most: 3 };
  const place = panels(maps.length, width, space);
  const rows = maps.flatMap(({ heat }) => heat.cells.map(([, row]) => row));
  const low = Math.min(...rows), high = Math.max(...rows);
  const most = Math.max(...maps.flatMap(({ heat }) => heat.cells.map(([, , n]) => n)));
  const option: Option = {
    title: maps.map(({ engine }, at) => title(engine.name, place.panels[at]!, space.left, theme)),
    grid: place.panels,
    xAxis: maps.map(({ heat }, at) => axis(theme, at, {
      type: "category", data: Array.from({ length: heat.columns }, (_, column) => (column * heat.column_s).toFixed(1)),
      splitLine: { show: false },
      axisLabel: axisLabel(theme, (text) => clock(Number(text)), { interval: Math.ceil(heat.columns / 6) - 1 }),
    })),
    yAxis: maps.map(({ heat }, at) => axis(theme, at, {
      type: "category", data: Array.from({ length: high - low + 1 }, (_, row) => String(row + low)), splitLine: { show: false },
      axisLabel: { ...axisLabel(theme, (row) => duration(10 ** (Number(row) / heat.rows_per_decade))),
        interval: (_: number, row: string) => Number(row) % heat.rows_per_decade === 0 },
    })),
    visualMap: { show: false, min: 0, max: Math.log10(Math.max(10, most)), dimension: 2, inRange: { color: [...theme.heat] } },
    tooltip: tooltip(theme, { trigger: "item" }),
    series: maps.map(({ engine, heat }, at) => ({
      type: "heatmap", name: engine.name, xAxisIndex: at, yAxisIndex: at, progressive: 0, emphasis: { disabled: true },
      data: heat.cells.map(([column, row, n]) => [column, row - low, Math.log10(Math.max(1, n)), n]),
      tooltip: { formatter: (item: { value: [number, number, number, number] }) => {
        const [column, row, , n] = item.value;
        const edge = (row: number) => duration(10 ** ((row + low) / heat.rows_per_decade));
        return tip(`${engine.name}, ${(column * heat.column_s).toFixed(1)} s`, [[`${edge(row)} to ${edge(row + 1)}`, `about ${grouped(n)} ${of}`]]);
      } },
    })),
  };
  return { height: place.height, option };
}
