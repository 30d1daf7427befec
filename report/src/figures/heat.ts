// How long operations took, over time: a map for each engine.

import type { Heat } from "../data";
import type { Theme } from "../colour";
import { control, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { clock, duration, grouped, NONE, si } from "../format";
import { withoutWords } from "../gaps";
import { axis, axisLabel, FONT, panels, tip, title, tooltip } from "../layout";
import { rateOf, type Engine } from "../model";
import type { View } from "../view";
import { pooled } from "../phrases";
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
  // A closed loop has no response times, whatever the roles beside it have.
  const own = view.model.data.heats.filter((heat) => heat.phase === view.work.phase && heat.role === role.value);
  const kinds = [...new Set(own.map((heat) => heat.kind))];
  const kind = control(view, "heat.kind", "time", kinds.map((name) => ({ value: name, label: name })), kinds.includes("response") ? "response" : "service");
  const cases = atThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const maps = cases.flatMap((one) =>
    own.filter((heat) => heat.group === one.index && heat.kind === kind.value && heat.columns > 2)
      .map((heat) => ({ engine: one.engine, heat })));
  if (maps.length === 0) return null;
  return {
    title: "Latency over time",
    note: `How many operations of ${role.value} took how long, over the time of the phase${pooled(cases, role.value)}; lower is better.`,
    how: ["One trial each: the nearest to the median."],
    controls: [threads, role, kind],
    cases,
    without: withoutWords(view, cases, maps.map((map) => map.engine), (one) => rateOf(one, role.value), "no times of this kind"),
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

/** Round numbers of seconds between an axis's marks. */
export function roundStep(length: number, most: number): number {
  const least = Math.max(length / most, 1e-3), power = 10 ** Math.floor(Math.log10(least));
  const seconds = [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least - 1e-12) ?? least;
  // Past half a minute clocks have other round numbers.
  return seconds < 30 ? seconds : [30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400].find((step) => step >= least) ?? 86400 * Math.ceil(least / 86400);
}

/** The colour of a count: by factors. */
function shade(count: number, most: number, theme: Theme): string {
  const share = Math.log10(Math.max(1, count)) / Math.log10(Math.max(10, most));
  return theme.heat[Math.min(theme.heat.length - 1, Math.floor(share * theme.heat.length))] ?? theme.ground;
}

const KEY = 30;

/** What the colours stand for: from one to the most, by factors. */
function scale(most: number, of: string, theme: Theme): object[] {
  const wide = 30, steps = theme.heat.length;
  const edge = (at: number) => Math.max(1, Math.max(10, most) ** (at / steps));
  const label = (text: string, left: number) => ({ type: "text", silent: true, left, top: 5, style: { text, fill: theme.faint, font: `11px ${FONT}` } });
  const words = `${of} in a cell:`, begin = words.length * 6 + 10;
  const squares = theme.heat.map((colour, at) => ({ type: "rect", silent: true, left: begin + at * (wide + 1) + 20, top: 5, shape: { width: wide, height: 12 }, style: { fill: colour, stroke: theme.line, lineWidth: 0.5 } }));
  return [label(words, 2), label("1", begin + 6), ...squares, label(si(edge(steps)), begin + steps * (wide + 1) + 26)];
}

interface Api {
  value: (dimension: number) => number;
  coord: (point: [number, number]) => [number, number];
}

export function chart(maps: Map[], width: number, theme: Theme, of: string): { height: number; option: Option } {
  const space = { height: 190, least: 250, left: 58, right: 16, bottom: 34, most: 3 };
  const place = panels(maps.length, width, space);
  const places = place.panels.map((panel) => ({ ...panel, top: panel.top + KEY }));
  const rows = maps.flatMap(({ heat }) => heat.cells.map(([, row]) => row));
  const each = maps[0]?.heat.rows_per_decade ?? 8;
  const low = Math.min(...rows), high = Math.max(...rows) + 1;
  const most = Math.max(...maps.flatMap(({ heat }) => heat.cells.map(([, , n]) => n)));
  const end = Math.max(...maps.map(({ heat }) => heat.columns * heat.column_s));
  const option: Option = {
    title: maps.map(({ engine }, at) => title(engine.name, places[at]!, space.left, theme)),
    graphic: { elements: scale(most, of, theme) },
    grid: places,
    xAxis: maps.map((_, at) => axis(theme, at, {
      type: "value", min: 0, max: end, interval: roundStep(end, Math.max(2, Math.floor((places[at]?.width ?? 300) / 60))), splitLine: { show: false },
      axisLabel: axisLabel(theme, clock, { showMaxLabel: Number.isInteger(end) ? null : false }),
    })),
    // By decades: each has as many rows.
    yAxis: maps.map((_, at) => axis(theme, at, {
      type: "value", min: Math.floor(low / each), max: Math.ceil(high / each), interval: 1, splitLine: { show: false }, axisLine: { show: false },
      axisLabel: axisLabel(theme, (decade) => duration(10 ** decade)),
    })),
    tooltip: tooltip(theme, { trigger: "item" }),
    series: maps.map(({ engine, heat }, at) => ({
      type: "custom", name: engine.name, xAxisIndex: at, yAxisIndex: at, progressive: 0, encode: { x: 0, y: 1 },
      data: heat.cells.map(([column, row, n]) => [column * heat.column_s, row / each, n]),
      renderItem: (_: unknown, api: Api) => {
        const [x, y] = api.coord([api.value(0), api.value(1)]);
        const [right, top] = api.coord([api.value(0) + heat.column_s, api.value(1) + 1 / each]);
        return { type: "rect", shape: { x, y: top, width: Math.max(1, right - x - 0.5), height: Math.max(1, y - top - 0.5) }, style: { fill: shade(api.value(2), most, theme) } };
      },
      tooltip: { formatter: (item: { value: [number, number, number] }) => {
        const [from, decade, n] = item.value;
        const edge = (of: number) => duration(10 ** of);
        return tip(`${engine.name}, ${clock(Number(from.toFixed(2)))}`, [[`${edge(decade)} to ${edge(decade + 1 / each)}`, `about ${grouped(n)} ${of}`]]);
      } },
    })),
  };
  return { height: place.height + KEY, option };
}
