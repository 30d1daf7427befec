// The choice on the page, and the part of it that each workload shows. The choice is kept after the `#` of the
// address, so that it never leaves the browser.

import { parseHash, parseShade, formatHash } from "./address";
import type { Shade } from "./appearance";
import type { Question } from "./ranked";
import type { Case, Engine, Model, Work } from "./model";

/** The chosen engines, questions, parts of the suite, workloads and threads (empty: all), the theme, and
 * the choices inside figures. */
export interface Choice {
  engines: string[];
  questions: string[];
  parts: string[];
  works: string[];
  threads: number[];
  theme: Shade | null;
  /** The name of the figure that is shown alone; empty: a list of the names; null: the whole page. */
  figure: string | null;
  inside: Record<string, string>;
}

export function parseChoice(hash: string): Choice {
  const parameters = parseHash(hash);
  const inside: Record<string, string> = {};
  for (const [name, value] of parameters) {
    if (name.startsWith("f.")) inside[name.slice(2)] = value;
  }
  return {
    engines: parameters.getAll("engine"),
    questions: parameters.getAll("question"),
    parts: parameters.getAll("part"),
    works: parameters.getAll("workload"),
    threads: parameters.getAll("threads").map(Number).filter(Number.isInteger),
    theme: parseShade(parameters),
    figure: parameters.get("figure"),
    inside,
  };
}

export function formatChoice(choice: Choice): string {
  const parameters = new URLSearchParams();
  for (const engine of choice.engines) parameters.append("engine", engine);
  for (const question of choice.questions) parameters.append("question", question);
  for (const part of choice.parts) parameters.append("part", part);
  for (const work of choice.works) parameters.append("workload", work);
  for (const threads of choice.threads) parameters.append("threads", String(threads));
  if (choice.figure != null) parameters.set("figure", choice.figure);
  if (choice.theme) parameters.set("theme", choice.theme);
  for (const [name, value] of Object.entries(choice.inside)) parameters.set(`f.${name}`, value);
  return formatHash(parameters);
}

/** A workload with its cases that are shown. */
export interface View {
  model: Model;
  work: Work;
  /** All chosen cases of the workload, including the load generator's. */
  cases: Case[];
  /** Engines to compare. */
  engines: Engine[];
  /** The page's choice, for all workloads. */
  choice: Choice;
  /** Choices inside figures, by the name of the control. */
  inside: Record<string, string>;
}

/** Returns the relative difference below which figures are equal, which is the same in all cases of a run. */
export const equalityShare = (view: View): number => view.cases[0]?.group.within ?? 0;

/** Returns the questions by which engines are ranked, in their order. */
export const rankedQuestions = (model: Model): Question[] =>
  [...new Set((model.data.summary.rankings ?? []).map((ranking) => ranking.question))];

export const suiteParts = (model: Model): string[] =>
  [...new Set(model.works.flatMap((work) => work.part ?? []))];

/** Whether a workload answers any of these questions. */
const hasQuestion = (model: Model, work: Work, questions: string[]): boolean =>
  (model.data.summary.rankings ?? []).some((ranking) =>
    questions.includes(ranking.question) && ranking.phase === work.phase && (ranking.part ?? null) === work.part);

/** Returns the chosen items, or all of them if nothing that exists is chosen. */
const filterChosen = <T>(items: T[], chosen: string[], matches: (item: T) => boolean): T[] => {
  const chosenItems = chosen.length === 0 ? items : items.filter(matches);
  return chosenItems.length > 0 ? chosenItems : items;
};

export function chosenWorks(model: Model, choice: Choice): Work[] {
  const partWorks = filterChosen(model.works, choice.parts, (work) => work.part != null && choice.parts.includes(work.part));
  const questionWorks = filterChosen(partWorks, choice.questions, (work) => hasQuestion(model, work, choice.questions));
  return filterChosen(questionWorks, choice.works, (work) => choice.works.includes(work.key));
}

/** Whether a figure of several workloads is drawn with this one: it is the first of them that is chosen. */
export const isFirstChosen = (view: View, isMember: (work: Work) => boolean): boolean =>
  chosenWorks(view.model, view.choice).find(isMember)?.id === view.work.id;

/** Returns the chosen engines under test. */
export function chosenEngines(model: Model, choice: Choice): Engine[] {
  const real = model.engines.filter((engine) => !engine.loadGenerator && !engine.drive);
  return filterChosen(real, choice.engines, (engine) => choice.engines.includes(engine.name));
}

export function createView(model: Model, work: Work, choice: Choice): View {
  const chosenNames = choice.engines.filter((name) => model.engines.some((engine) => engine.name === name));
  const isDriveOnly = model.engines.every((engine) => engine.drive || engine.loadGenerator);
  const isShown = (engine: Engine) => engine.loadGenerator || (engine.drive && !isDriveOnly) || chosenNames.length === 0 || chosenNames.includes(engine.name);
  const threads = choice.threads.filter((count) => model.threads.includes(count));
  const cases = model.cases.filter((one) =>
    one.work.id === work.id && isShown(one.engine)
    && (one.threads == null || threads.length === 0 || threads.includes(one.threads)));
  const engines = model.engines.filter((engine) =>
    !engine.loadGenerator && cases.some((one) => one.engine.id === engine.id));
  return { model, work, cases, engines, choice, inside: choice.inside };
}

/** Returns the view's numbers of threads, ascending. */
export function threadCounts(view: View): number[] {
  const counts = view.cases.flatMap((one) => (one.threads == null ? [] : [one.threads]));
  return [...new Set(counts)].sort((a, b) => a - b);
}
