// Which figures the page of a run has, and in which order.

import type { Figure } from "./drawing";
import { FIGURES, memory, overview, pairs, published, ranking, rate, scoreboard } from "./figures";
import type { Model } from "./model";
import { searchAt } from "./search";
import { chosenWorks, parse, viewOf, type Choice, type View } from "./view";

/** On the first screen, of the workload that was asked about. */
const TOP = [ranking, pairs, overview, scoreboard];

/** Where a target stops being met: the answer to a search, and so before all else. */
const SEARCHED = [memory, rate];

export const topOf = (view: View): Figure[] =>
  (searchAt(view.model.data.summary.search, view.work.phase) ? [...SEARCHED, ...TOP] : TOP);

/** A study's figures are of all workloads. */
export const keyOf = (view: View, figure: Figure): string => (figure === published ? figure.name : `${figure.name} ${view.work.id}`);

/** What the first screen is about: what a search held against its target, else what was measured, else the load;
 * nothing is compared with a bare drive. */
export function firstOf(views: View[]): View | null {
  const phase = views[0]?.model.data.summary.search?.phase;
  return views.find((view) => view.work.phase === phase) ?? views.find((view) => !view.work.drive) ?? null;
}

/** The figures of a workload's own section: none twice. */
export function figuresOf(view: View, isFirst: boolean): Figure[] {
  if (view.work.drive) return FIGURES.filter((figure) => figure.drive);
  return isFirst ? FIGURES.filter((figure) => !topOf(view).includes(figure)) : [pairs, scoreboard, ...FIGURES];
}

/** All that may be drawn of a choice, from the top of the page to its end. */
export function inOrder(whole: Model, choice: Choice): [View, Figure][] {
  const views = chosenWorks(whole, choice).map((work) => viewOf(whole, work, choice)), first = firstOf(views);
  return [
    ...views.slice(0, 1).map((view): [View, Figure] => [view, published]),
    ...(first ? topOf(first).map((figure): [View, Figure] => [first, figure]) : []),
    ...views.flatMap((view) => figuresOf(view, view === first).map((figure): [View, Figure] => [view, figure])),
  ];
}

/** Numbers in the order of the whole page: a filter takes figures away, and leaves the others theirs. */
export function numbering(whole: Model): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const [view, figure] of inOrder(whole, parse(""))) {
    const key = keyOf(view, figure);
    if (!numbers.has(key) && figure.draw(view)) numbers.set(key, numbers.size + 1);
  }
  return numbers;
}
