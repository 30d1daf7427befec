// The figures of a run's page, and their order.

import type { Figure } from "./drawing";
import { FIGURES, memory, overview, pairs, published, ranking, rate, scoreboard } from "./figures";
import type { Model } from "./model";
import { phaseSearch } from "./search";
import { chosenWorks, parseChoice, createView, type Choice, type View } from "./view";

/** Figures of the first screen, of the main workload. */
const TOP = [ranking, pairs, overview, scoreboard];

/** Figures that answer a search, which come before all others. */
const SEARCHED = [memory, rate];

export const topFigures = (view: View): Figure[] =>
  (phaseSearch(view.model.data.summary.search, view.work.phase) ? [...SEARCHED, ...TOP] : TOP);

/** Returns the key of a figure of a view. A study's figure is of all workloads. */
export const figureKey = (view: View, figure: Figure): string => (figure === published ? figure.name : `${figure.name} ${view.work.id}`);

/** Returns the view of the first screen: the phase of a search, else the first workload of engines; null: the run has
 * only a bare drive. */
export function firstView(views: View[]): View | null {
  const phase = views[0]?.model.data.summary.search?.phase;
  return views.find((view) => view.work.phase === phase) ?? views.find((view) => !view.work.drive) ?? null;
}

/** Returns the figures of a workload's section; the workload of the first screen has none twice. */
export function sectionFigures(view: View, isFirst: boolean): Figure[] {
  if (view.work.drive) return FIGURES.filter((figure) => figure.drive);
  return isFirst ? FIGURES.filter((figure) => !topFigures(view).includes(figure)) : [pairs, scoreboard, ...FIGURES];
}

/** Returns all figures of a choice that may be drawn, in the order of the page. */
export function orderFigures(model: Model, choice: Choice): [View, Figure][] {
  const views = chosenWorks(model, choice).map((work) => createView(model, work, choice)), first = firstView(views);
  return [
    ...views.slice(0, 1).map((view): [View, Figure] => [view, published]),
    ...(first ? topFigures(first).map((figure): [View, Figure] => [first, figure]) : []),
    ...views.flatMap((view) => sectionFigures(view, view === first).map((figure): [View, Figure] => [view, figure])),
  ];
}

/** Numbers the figures of the unfiltered page: a filter hides figures and does not change the numbers of the others. */
export function numberFigures(model: Model): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const [view, figure] of orderFigures(model, parseChoice(""))) {
    const key = figureKey(view, figure);
    if (!numbers.has(key) && figure.draw(view)) numbers.set(key, numbers.size + 1);
  }
  return numbers;
}
