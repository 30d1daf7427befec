// What is chosen on the page, and the address that says so: after `#`, so that it never leaves the
// browser.

import type { Question } from "./ranked";
import type { Case, Engine, Model, Work } from "./model";

/** Chosen engines, questions, parts of the suite, workloads and threads (empty: all), the theme, and
 * choices inside figures. */
export interface Choice {
  engines: string[];
  questions: string[];
  parts: string[];
  works: string[];
  threads: number[];
  theme: "light" | "dark" | null;
  /** The name of the figure that is shown alone; empty: which names there are; null: the whole page. */
  figure: string | null;
  inside: Record<string, string>;
}

export function parse(hash: string): Choice {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  const theme = parameters.get("theme");
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
    theme: theme === "light" || theme === "dark" ? theme : null,
    figure: parameters.get("figure"),
    inside,
  };
}

export function write(choice: Choice): string {
  const parameters = new URLSearchParams();
  for (const engine of choice.engines) parameters.append("engine", engine);
  for (const question of choice.questions) parameters.append("question", question);
  for (const part of choice.parts) parameters.append("part", part);
  for (const work of choice.works) parameters.append("workload", work);
  for (const threads of choice.threads) parameters.append("threads", String(threads));
  if (choice.figure != null) parameters.set("figure", choice.figure);
  if (choice.theme) parameters.set("theme", choice.theme);
  for (const [name, value] of Object.entries(choice.inside)) parameters.set(`f.${name}`, value);
  const text = parameters.toString();
  return text ? `#${text}` : "";
}

/** One workload's cases that are shown. */
export interface View {
  model: Model;
  work: Work;
  /** All chosen cases of the workload, the load generator's too. */
  cases: Case[];
  /** Engines to compare. */
  engines: Engine[];
  /** What is chosen on the page, of whichever workload. */
  choice: Choice;
  /** Choices inside a figure, by its name. */
  inside: Record<string, string>;
}

/** Two that differ by less than this share are equal: the same in all cases of a run. */
export const withinOf = (view: View): number => view.cases[0]?.group.within ?? 0;

/** The questions that engines are ranked by, in their order. */
export const questionsOf = (model: Model): Question[] =>
  [...new Set((model.data.summary.rankings ?? []).map((ranking) => ranking.question))];

export const partsOf = (model: Model): string[] =>
  [...new Set(model.works.flatMap((work) => work.part ?? []))];

/** Whether a workload says something to any of these questions. */
const answers = (model: Model, work: Work, questions: string[]): boolean =>
  (model.data.summary.rankings ?? []).some((ranking) =>
    questions.includes(ranking.question) && ranking.phase === work.phase && (ranking.part ?? null) === work.part);

/** All of them where nothing is chosen, or nothing that is there. */
const among = <T>(items: T[], chosen: string[], is: (item: T) => boolean): T[] => {
  const found = chosen.length === 0 ? items : items.filter(is);
  return found.length > 0 ? found : items;
};

export function chosenWorks(model: Model, choice: Choice): Work[] {
  const parts = among(model.works, choice.parts, (work) => work.part != null && choice.parts.includes(work.part));
  const asked = among(parts, choice.questions, (work) => answers(model, work, choice.questions));
  return among(asked, choice.works, (work) => choice.works.includes(work.key));
}

/** Engines under test that are chosen. */
export function chosenEngines(model: Model, choice: Choice): Engine[] {
  const real = model.engines.filter((engine) => !engine.loadGenerator && !engine.drive);
  return among(real, choice.engines, (engine) => choice.engines.includes(engine.name));
}

export function viewOf(model: Model, work: Work, choice: Choice): View {
  const known = choice.engines.filter((name) => model.engines.some((engine) => engine.name === name));
  const alone = model.engines.every((engine) => engine.drive || engine.loadGenerator);
  const shown = (engine: Engine) => engine.loadGenerator || (engine.drive && !alone) || known.length === 0 || known.includes(engine.name);
  const threads = choice.threads.filter((count) => model.threads.includes(count));
  const cases = model.cases.filter((one) =>
    one.work.id === work.id && shown(one.engine)
    && (one.threads == null || threads.length === 0 || threads.includes(one.threads)));
  const engines = model.engines.filter((engine) =>
    !engine.loadGenerator && cases.some((one) => one.engine.id === engine.id));
  return { model, work, cases, engines, choice, inside: choice.inside };
}

/** The view's numbers of threads, ascending. */
export function threadsOf(view: View): number[] {
  const counts = view.cases.flatMap((one) => (one.threads == null ? [] : [one.threads]));
  return [...new Set(counts)].sort((a, b) => a - b);
}
