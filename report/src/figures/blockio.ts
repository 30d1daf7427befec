// How long the device took, over time, as the kernel saw it: a map for each engine.

import { control, type Drawing, type Figure } from "../drawing";
import { duration, grouped, NONE } from "../format";
import { withoutWords } from "../gaps";
import { rateOf } from "../model";
import type { View } from "../view";
import { atThreads, threadsControl } from "./choices";
import { chart, columnsOf, fromRow } from "./heat";

export const blockio: Figure = { name: "blockio", drive: true, draw };

const OWNERS: Record<string, string> = {
  ours: "by the engine", kernel: "by the kernel (writeback, journals, flushes)", foreign: "by other processes",
};

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "blockio");
  const cases = atThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const here = view.model.data.block_heats.filter((heat) =>
    heat.phase === view.work.phase && heat.columns > 2 && cases.some((one) => one.index === heat.group));
  const choose = (name: "kind" | "owner", from: typeof here) => {
    const values = [...new Set(from.map((heat) => heat[name]))];
    return control(view, `blockio.${name}`, name === "kind" ? "I/O" : "by", values.map((value) => ({ value, label: value })), values[0] ?? "");
  };
  const kind = choose("kind", here);
  const owner = choose("owner", here.filter((heat) => heat.kind === kind.value));
  const maps = cases.flatMap((one) => here
    .filter((heat) => heat.group === one.index && heat.kind === kind.value && heat.owner === owner.value)
    .map((heat) => ({ engine: one.engine, heat })));
  if (maps.length === 0) return null;
  return {
    title: "Device latency over time",
    note: `How many ${kind.value} requests ${OWNERS[owner.value] ?? ""} took the device how long, lower is better.`,
    how: ["From the device's driver to the request's completion. One trial each: the nearest to the median."],
    controls: [threads, kind, owner],
    cases,
    without: withoutWords(view, cases, maps.map((map) => map.engine), (one) => rateOf(one, view.work.roles[0] ?? ""), "no such requests"),
    chart: (width, theme) => chart(maps, width, theme, "requests"),
    table: () => ({
      head: ["engine", "from", "requests", "fastest", "median", "slowest"],
      rows: maps.flatMap(({ engine, heat }) => columnsOf(heat).map((column) => [
        engine.name, `${(column.at * heat.column_s).toFixed(1)} s`, grouped(column.count),
        ...[column.low, column.middle, column.high].map((row) => (row == null ? NONE : duration(fromRow(heat, row)))),
      ])),
    }),
  };
}
