// A plot of a figure over the runs of a suite: a dot per run, levels as lines, a marker at each change.

import type { TrendFigure, TrendRun } from "./trends";
import { svg } from "./dom";
import { OUTLINES } from "./forest";
import { formatValue } from "./format";
import { formatCoordinate } from "./layout";

const HEIGHT = 54;
const EDGE = 6;


/** Returns the levels with the first and the last run of each. */
function levelSpans(course: TrendFigure): { from: number; to: number; value: number }[] {
  const last = course.values.length - 1;
  const starts = [0, ...course.changes.map((change) => change.run_index)];
  return course.levels.map((value, at) => ({ from: starts[at] ?? 0, to: (starts[at + 1] ?? last + 1) - 1, value }));
}

/** Draws the plot. Its axis begins at the smallest value, so that changes of a few percent are visible. */
export function coursePlot(course: TrendFigure, runs: TrendRun[]): SVGElement {
  const values = course.values.filter((value) => value != null);
  const low = Math.min(...values), high = Math.max(...values);
  const span = high - low || Math.abs(high) * 0.02 || 1;
  const x = (at: number) => (runs.length < 2 ? 50 : 2 + (96 * at) / (runs.length - 1));
  const y = (value: number) => EDGE + (HEIGHT - 2 * EDGE) * (1 - (value - low) / span);
  const line = (x1: number, x2: number, y1: number, y2: number, name: string) =>
    svg("line", { x1: formatCoordinate(x1), x2: formatCoordinate(x2), y1: y1.toFixed(1), y2: y2.toFixed(1), class: name });
  const levels = levelSpans(course).map(({ from, to, value }) => line(x(from), x(to), y(value), y(value), "level"));
  const dots = course.values.flatMap((value, at) => {
    if (value == null) return [];
    const run = runs[at];
    return [svg("circle", { cx: formatCoordinate(x(at)), cy: y(value).toFixed(1), r: at === runs.length - 1 ? "3.5" : "2.2", class: at === runs.length - 1 ? "newest" : "run" },
      svg("title", {}, `${run?.label ?? ""}: ${formatValue(value, course.unit)}`))];
  });
  const changes = course.changes.flatMap((change) => [
    line(x(change.run_index), x(change.run_index), 0, HEIGHT, `border ${change.verdict}`),
    svg("svg", { x: formatCoordinate(x(change.run_index)), y: "0", width: "12", height: "12", overflow: "visible" },
      svg("path", { d: OUTLINES[change.verdict], transform: "translate(-6 0)", class: `point ${change.verdict}` })),
  ]);
  return svg("svg", { class: "course", height: String(HEIGHT), role: "img", "aria-label": `${course.figure} over ${runs.length} runs, ${course.changes.length} changes` },
    ...levels, ...changes, ...dots);
}
