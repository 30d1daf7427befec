// Percentiles over time: p50, p99 and p99.9 of each slice, a panel for each, so that a stall shows
// where it was and the median beside it. The table has p95, too.

import { better, type Drawing, type Figure } from "../drawing";
import { clock, duration, NONE } from "../format";
import type { Heat } from "../data";
import { withoutWords } from "../gaps";
import { rateOf, type Engine } from "../model";
import type { View } from "../view";
import { pooled } from "../phrases";
import { atThreads, roleControl, threadsControl } from "./choices";
import { timeChart, type TimeLines } from "./overtime";

export const tails: Figure = { name: "tails", draw };

const NAMES = ["p50", "p95", "p99", "p99.9"] as const;
/** The table alone has p95. */
const isDrawn = (name: string): boolean => name !== "p95";

interface Drawn {
  engine: Engine;
  heat: Heat;
}

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "tails"), role = roleControl(view, "tails");
  const cases = atThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const heats = view.model.data.heats.filter((heat) => heat.phase === view.work.phase && heat.role === role.value && heat.columns > 2);
  // From the scheduled start where there is one.
  const kind = heats.some((heat) => heat.kind === "response") ? "response" : "service";
  const drawn = cases.flatMap((one) => heats.filter((heat) => heat.group === one.index && heat.kind === kind).map((heat) => ({ engine: one.engine, heat })));
  const panels = NAMES.flatMap((name, at): TimeLines[] => {
    if (!isDrawn(name)) return [];
    const lines = drawn.map(({ engine, heat }) => ({ engine, points: pointsOf(heat, at) })).filter((line) => line.points.length > 1);
    return lines.length > 0 ? [{ title: name, lines }] : [];
  });
  if (panels.length === 0) return null;
  return {
    title: "Percentiles over time",
    note: `p50, p99 and p99.9 of ${role.value} in each slice of the time${pooled(cases, role.value)}, ${better("lower")}.`,
    how: ["A slice with fewer than 10 slower operations has no point. One trial: the nearest to the median."],
    controls: [threads, role],
    cases,
    without: withoutWords(view, cases, panels.flatMap((panel) => panel.lines.map((line) => line.engine)), (one) => rateOf(one, role.value), "too few operations in a slice"),
    chart: (width, theme) => timeChart(panels, { name: "", format: duration, log: true }, width, theme),
    table: () => ({
      head: ["engine", "until", ...NAMES],
      rows: drawn.flatMap(({ engine, heat }: Drawn) => heat.tails.map((tail, column) =>
        [engine.name, clock((column + 1) * heat.column_s), ...tail.map((ns) => (ns == null ? NONE : duration(ns)))])),
    }),
  };
}

/** In the middle of its slice. */
const pointsOf = (heat: Heat, at: number): [seconds: number, ns: number][] =>
  (heat.tails ?? []).flatMap((tail, column) => { const ns = tail[at]; return ns == null ? [] : [[(column + 0.5) * heat.column_s, ns] as [number, number]]; });
