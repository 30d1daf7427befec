// Figure: latencies over time, with a heat map for each engine.

import type { Heat } from "../data";
import type { Theme } from "../colour";
import { createControl, type Drawing, type Figure } from "../drawing";
import type { Option } from "../echarts";
import { formatClock, formatDuration, formatThousands, NONE, formatSi } from "../format";
import { notDrawnEngines } from "../gaps";
import { axisOptions, axisLabelOptions, FONT, layOutPanels, tooltipContent, panelTitle, tooltipOptions } from "../layout";
import { rateMetric, type Engine } from "../model";
import type { View } from "../view";
import { pooledOpsNote } from "../phrases";
import { casesAtThreads, roleControl, threadsControl } from "./choices";

export const heat: Figure = { name: "heat", drive: true, draw };

/** The drawn parts of a map, of operations or device requests. */
type Cells = Pick<Heat, "column_s" | "columns" | "rows_per_decade" | "cells">;

interface Map {
  engine: Engine;
  heat: Cells;
}

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "heat"), role = roleControl(view, "heat");
  const cases = casesAtThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  // Kinds are those of these cases: a closed loop has no response times.
  const isShown = (heat: Heat) => heat.phase === view.work.phase && heat.role === role.value && cases.some((one) => one.index === heat.group);
  const roleHeats = view.model.data.heats.filter(isShown);
  const kinds = [...new Set(roleHeats.map((heat) => heat.kind))];
  const kind = createControl(view, "heat.kind", "time", kinds.map((name) => ({ value: name, label: name })), kinds.includes("response") ? "response" : "service");
  const maps = cases.flatMap((one) =>
    roleHeats.filter((heat) => heat.group === one.index && heat.kind === kind.value && heat.columns > 2)
      .map((heat) => ({ engine: one.engine, heat })));
  if (maps.length === 0) return null;
  return {
    title: "Latency over time",
    note: `How many operations of ${role.value} took how long, over the time of the phase${pooledOpsNote(cases, role.value)}; lower is better.`,
    how: ["One trial each: the nearest to the median."],
    controls: [threads, role, kind],
    cases,
    notDrawn: notDrawnEngines(view, cases, maps.map((map) => map.engine), (one) => rateMetric(one, role.value), "no times of this kind"),
    chart: (width, theme) => heatChart(maps, width, theme, "operations"),
    table: () => ({
      head: ["engine", "from", "operations", "fastest", "median", "slowest"],
      rows: maps.flatMap(({ engine, heat }) => summarizeColumns(heat).map((column) => [
        engine.name, `${(column.at * heat.column_s).toFixed(1)} s`, formatThousands(column.count),
        ...[column.low, column.middle, column.high].map((row) => (row == null ? NONE : formatDuration(rowDuration(heat, row)))),
      ])),
    }),
  };
}

export const rowDuration = (heat: Cells, row: number): number => 10 ** ((row + 0.5) / heat.rows_per_decade);

export interface Column {
  at: number;
  count: number;
  low: number | null;
  middle: number | null;
  high: number | null;
}

/** Summarizes each column of a map. */
export function summarizeColumns(heat: Cells): Column[] {
  return Array.from({ length: heat.columns }, (_, at) => {
    const cells = heat.cells.filter(([column]) => column === at).sort((a, b) => a[1] - b[1]);
    const count = cells.reduce((sum, [, , n]) => sum + n, 0);
    let below = 0;
    const middle = cells.find(([, , n]) => (below += n) >= count / 2);
    return { at, count, low: cells[0]?.[1] ?? null, middle: middle?.[1] ?? null, high: cells.at(-1)?.[1] ?? null };
  });
}

/** Returns a round number of seconds as the step between an axis's marks. */
export function roundStep(length: number, marksMax: number): number {
  const minimum = Math.max(length / marksMax, 1e-3), power = 10 ** Math.floor(Math.log10(minimum));
  const seconds = [1, 2, 5, 10].map((n) => n * power).find((step) => step >= minimum - 1e-12) ?? minimum;
  // From half a minute on, round numbers are those of a clock.
  return seconds < 30 ? seconds : [30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400].find((step) => step >= minimum) ?? 86400 * Math.ceil(minimum / 86400);
}

/** Returns the colour of a count, on a logarithmic scale. */
function countColour(count: number, maximum: number, theme: Theme): string {
  const share = Math.log10(Math.max(1, count)) / Math.log10(Math.max(10, maximum));
  return theme.heat[Math.min(theme.heat.length - 1, Math.floor(share * theme.heat.length))] ?? theme.ground;
}

const KEY = 30;

/** Returns the key of the colours, from one to the maximum, on a logarithmic scale. */
function colourScale(maximum: number, noun: string, theme: Theme): object[] {
  const wide = 30, steps = theme.heat.length;
  const stepCount = (at: number) => Math.max(1, Math.max(10, maximum) ** (at / steps));
  const label = (text: string, left: number) => ({ type: "text", silent: true, left, top: 5, style: { text, fill: theme.faint, font: `11px ${FONT}` } });
  const words = `${noun} in a cell:`, begin = words.length * 6 + 10;
  const squares = theme.heat.map((colour, at) => ({ type: "rect", silent: true, left: begin + at * (wide + 1) + 20, top: 5, shape: { width: wide, height: 12 }, style: { fill: colour, stroke: theme.line, lineWidth: 0.5 } }));
  return [label(words, 2), label("1", begin + 6), ...squares, label(formatSi(stepCount(steps)), begin + steps * (wide + 1) + 26)];
}

interface Api {
  value: (dimension: number) => number;
  coord: (point: [number, number]) => [number, number];
}

export function heatChart(maps: Map[], width: number, theme: Theme, noun: string): { height: number; option: Option } {
  const space = { height: 190, least: 250, left: 58, right: 16, bottom: 34, most: 3 };
  const layout = layOutPanels(maps.length, width, space);
  const places = layout.panels.map((panel) => ({ ...panel, top: panel.top + KEY }));
  const rows = maps.flatMap(({ heat }) => heat.cells.map(([, row]) => row));
  const rowsPerDecade = maps[0]?.heat.rows_per_decade ?? 8;
  const low = Math.min(...rows), high = Math.max(...rows) + 1;
  const maximum = Math.max(...maps.flatMap(({ heat }) => heat.cells.map(([, , n]) => n)));
  const end = Math.max(...maps.map(({ heat }) => heat.columns * heat.column_s));
  const option: Option = {
    title: maps.map(({ engine }, at) => panelTitle(engine.name, places[at]!, space.left, theme)),
    graphic: { elements: colourScale(maximum, noun, theme) },
    grid: places,
    xAxis: maps.map((_, at) => axisOptions(theme, at, {
      type: "value", min: 0, max: end, interval: roundStep(end, Math.max(2, Math.floor((places[at]?.width ?? 300) / 60))), splitLine: { show: false },
      axisLabel: axisLabelOptions(theme, formatClock, { showMaxLabel: Number.isInteger(end) ? null : false }),
    })),
    // The axis is in decades, each with the same number of rows.
    yAxis: maps.map((_, at) => axisOptions(theme, at, {
      type: "value", min: Math.floor(low / rowsPerDecade), max: Math.ceil(high / rowsPerDecade), interval: 1, splitLine: { show: false }, axisLine: { show: false },
      axisLabel: axisLabelOptions(theme, (decade) => formatDuration(10 ** decade)),
    })),
    tooltip: tooltipOptions(theme, { trigger: "item" }),
    series: maps.map(({ engine, heat }, at) => ({
      type: "custom", name: engine.name, xAxisIndex: at, yAxisIndex: at, progressive: 0, encode: { x: 0, y: 1 },
      data: heat.cells.map(([column, row, n]) => [column * heat.column_s, row / rowsPerDecade, n]),
      renderItem: (_: unknown, api: Api) => {
        const [x, y] = api.coord([api.value(0), api.value(1)]);
        const [right, top] = api.coord([api.value(0) + heat.column_s, api.value(1) + 1 / rowsPerDecade]);
        return { type: "rect", shape: { x, y: top, width: Math.max(1, right - x - 0.5), height: Math.max(1, y - top - 0.5) }, style: { fill: countColour(api.value(2), maximum, theme) } };
      },
      tooltip: { formatter: (item: { value: [number, number, number] }) => {
        const [from, decade, n] = item.value;
        const formatEdge = (power: number) => formatDuration(10 ** power);
        return tooltipContent(`${engine.name}, ${formatClock(Number(from.toFixed(2)))}`, [[`${formatEdge(decade)} to ${formatEdge(decade + 1 / rowsPerDecade)}`, `about ${formatThousands(n)} ${noun}`]]);
      } },
    })),
  };
  return { height: layout.height + KEY, option };
}
