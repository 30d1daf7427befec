// What is chosen on the page, and the address that says so: after `#`, so that it never leaves the
// browser.

import type { Case, Engine, Model, Work } from "./model";

/** Chosen engines, workloads and threads (empty: all), the theme, and choices inside figures. */
export interface Choice {
  engines: string[];
  works: string[];
  threads: number[];
  theme: "light" | "dark" | null;
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
    works: parameters.getAll("workload"),
    threads: parameters.getAll("threads").map(Number).filter(Number.isInteger),
    theme: theme === "light" || theme === "dark" ? theme : null,
    inside,
  };
}

export function write(choice: Choice): string {
  const parameters = new URLSearchParams();
  for (const engine of choice.engines) parameters.append("engine", engine);
  for (const work of choice.works) parameters.append("workload", work);
  for (const threads of choice.threads) parameters.append("threads", String(threads));
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
  /** Choices inside a figure, by its name. */
  inside: Record<string, string>;
}

export function chosenWorks(model: Model, choice: Choice): Work[] {
  const chosen = model.works.filter((work) => choice.works.includes(work.key));
  return chosen.length > 0 ? chosen : model.works;
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
  return { model, work, cases, engines, inside: choice.inside };
}

/** The view's numbers of threads, ascending. */
export function threadsOf(view: View): number[] {
  const counts = view.cases.flatMap((one) => (one.threads == null ? [] : [one.threads]));
  return [...new Set(counts)].sort((a, b) => a - b);
}
