// Figure: the device's latencies over time, as the kernel measured them, with a heat map for each engine.

import { createControl, type Drawing, type Figure } from "../drawing";
import { formatDuration, formatThousands, NONE } from "../format";
import { notDrawnEngines } from "../gaps";
import { rateMetric } from "../model";
import type { View } from "../view";
import { casesAtThreads, threadsControl } from "./choices";
import { heatChart, summarizeColumns, rowDuration } from "./heat";

export const blockio: Figure = { name: "blockio", drive: true, draw };

const OWNERS: Record<string, string> = {
  ours: "by the engine", kernel: "by the kernel (writeback, journals, flushes)", foreign: "by other processes",
};

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "blockio");
  const cases = casesAtThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const phaseHeats = view.model.data.block_heats.filter((heat) =>
    heat.phase === view.work.phase && heat.columns > 2 && cases.some((one) => one.index === heat.group));
  const createChoice = (name: "kind" | "owner", heats: typeof phaseHeats) => {
    const values = [...new Set(heats.map((heat) => heat[name]))];
    return createControl(view, `blockio.${name}`, name === "kind" ? "I/O" : "by", values.map((value) => ({ value, label: value })), values[0] ?? "");
  };
  const kind = createChoice("kind", phaseHeats);
  const owner = createChoice("owner", phaseHeats.filter((heat) => heat.kind === kind.value));
  const maps = cases.flatMap((one) => phaseHeats
    .filter((heat) => heat.group === one.index && heat.kind === kind.value && heat.owner === owner.value)
    .map((heat) => ({ engine: one.engine, heat })));
  if (maps.length === 0) return null;
  return {
    title: "Device latency over time",
    note: `How many ${kind.value} requests ${OWNERS[owner.value] ?? ""} took the device how long, lower is better.`,
    how: ["From the device's driver to the request's completion. One trial each: the nearest to the median."],
    controls: [threads, kind, owner],
    cases,
    notDrawn: notDrawnEngines(view, cases, maps.map((map) => map.engine), (one) => rateMetric(one, view.work.roles[0] ?? ""), "no such requests"),
    chart: (width, theme) => heatChart(maps, width, theme, "requests"),
    table: () => ({
      head: ["engine", "from", "requests", "fastest", "median", "slowest"],
      rows: maps.flatMap(({ engine, heat }) => summarizeColumns(heat).map((column) => [
        engine.name, `${(column.at * heat.column_s).toFixed(1)} s`, formatThousands(column.count),
        ...[column.low, column.middle, column.high].map((row) => (row == null ? NONE : formatDuration(rowDuration(heat, row)))),
      ])),
    }),
  };
}
