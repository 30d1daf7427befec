// Figure: percentiles over time. p50, p99 and p99.9 of each slice have a panel each, so that a stall is
// visible next to the median. The table has p95, too.

import { formatDirection, type Drawing, type Figure } from "../drawing";
import { formatClock, formatDuration, NONE } from "../format";
import type { Heat } from "../data";
import { notDrawnEngines } from "../gaps";
import { rateMetric, type Engine } from "../model";
import type { View } from "../view";
import { pooledOpsNote } from "../phrases";
import { casesAtThreads, roleControl, threadsControl } from "./choices";
import { timeChart, type TimeLines } from "./overtime";

export const tails: Figure = { name: "tails", draw };

const NAMES = ["p50", "p95", "p99", "p99.9"] as const;
/** Whether a percentile is drawn: p95 is in the table only. */
const isDrawn = (name: string): boolean => name !== "p95";

interface Drawn {
  engine: Engine;
  heat: Heat;
}

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "tails"), role = roleControl(view, "tails");
  const cases = casesAtThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const heats = view.model.data.heats.filter((heat) => heat.phase === view.work.phase && heat.role === role.value && heat.columns > 2 && cases.some((one) => one.index === heat.group));
  // In an open loop latencies start at the scheduled time.
  const kind = heats.some((heat) => heat.kind === "response") ? "response" : "service";
  const maps = cases.flatMap((one) => heats.filter((heat) => heat.group === one.index && heat.kind === kind).map((heat) => ({ engine: one.engine, heat })));
  const panels = NAMES.flatMap((name, at): TimeLines[] => {
    if (!isDrawn(name)) return [];
    const lines = maps.map(({ engine, heat }) => ({ engine, points: tailPoints(heat, at) })).filter((line) => line.points.length > 1);
    return lines.length > 0 ? [{ title: name, lines }] : [];
  });
  if (panels.length === 0) return null;
  return {
    title: "Percentiles over time",
    note: `p50, p99 and p99.9 of ${role.value} in each slice of the time${pooledOpsNote(cases, role.value)}, ${formatDirection("lower")}.`,
    how: ["A slice with fewer than 10 slower operations has no point. One trial: the nearest to the median."],
    controls: [threads, role],
    cases,
    notDrawn: notDrawnEngines(view, cases, panels.flatMap((panel) => panel.lines.map((line) => line.engine)), (one) => rateMetric(one, role.value), "too few operations in a slice"),
    chart: (width, theme) => timeChart(panels, { name: "", format: formatDuration, log: true }, width, theme),
    table: () => ({
      head: ["engine", "until", ...NAMES],
      rows: maps.flatMap(({ engine, heat }: Drawn) => heat.tails.map((tail, column) =>
        [engine.name, formatClock((column + 1) * heat.column_s), ...tail.map((ns) => (ns == null ? NONE : formatDuration(ns)))])),
    }),
  };
}

/** Returns the points of a percentile, each in the middle of its slice. */
const tailPoints = (heat: Heat, at: number): [seconds: number, ns: number][] =>
  (heat.tails ?? []).flatMap((tail, column) => { const ns = tail[at]; return ns == null ? [] : [[(column + 0.5) * heat.column_s, ns] as [number, number]]; });
