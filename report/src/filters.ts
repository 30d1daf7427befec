// The bar that stays on top: which engines, workloads and threads are shown. It is the legend, too.

import { colourOf, outlineOf, type Theme } from "./colour";
import { h, svg, type Child } from "./dom";
import type { Engine, Model, Work } from "./model";
import { QUESTIONS } from "./questions";
import { chosenWorks, partsOf, questionsOf, type Choice } from "./view";

/** More workloads than this are chosen among by what is asked, and by part; their own names are folded away. */
const WORKS_MAX = 6;

export function legendMark(engine: Engine, theme: Theme): SVGElement {
  return svg("svg", { viewBox: "0 0 10 10", class: "mark", "aria-hidden": "true" },
    svg("path", { d: outlineOf(engine), fill: colourOf(engine, theme) }));
}

/** Calls `changed` with the choice as it is after a click. */
export function filters(model: Model, choice: Choice, theme: Theme, changed: (choice: Choice) => void): HTMLElement {
  // The file that a drive's jobs work on is prepared by one that measures nothing.
  const idle = (engine: Engine) => engine.drive && !model.cases.some((one) => one.engine.id === engine.id);
  const real = model.engines.filter((engine) => !engine.loadGenerator && !idle(engine));
  // Jobs of the drive are chosen among where there is nothing else; beside engines all are shown.
  const alone = real.every((engine) => engine.drive);
  const engines = real.filter((engine) => alone || !engine.drive);
  const many = model.works.length > WORKS_MAX, parts = partsOf(model);
  // Names that begin alike would be cut to the same letters: what tells them apart is said.
  const called = (work: Work) => (model.works.some((other) => other !== work && other.title === work.title) ? work.key : work.name);
  const works = () => group("Workloads", chosenWorks(model, { ...choice, works: [] }).map((work) => ({
    key: work.key, label: [called(work)], title: work.name,
  })), choice.works, (chosen) => changed({ ...choice, works: chosen }));
  const groups: (HTMLElement | null)[] = [
    group(alone ? "Jobs" : "Engines", engines.map((engine) => ({
      key: engine.name, label: [legendMark(engine, theme), engine.name],
    })), choice.engines, (chosen) => changed({ ...choice, engines: chosen })),
    many ? group("Questions", questionsOf(model).map((question) => ({
      key: question, label: [QUESTIONS[question].short], name: `question ${question}`,
    })), choice.questions, (chosen) => changed({ ...choice, questions: chosen })) : null,
    parts.length < 2 ? null : group("Parts", parts.map((part) => ({
      key: part, label: [part], name: `part ${part}`,
    })), choice.parts, (chosen) => changed({ ...choice, parts: chosen })),
    model.works.length < 2 ? null : many ? fold(chosenWorks(model, { ...choice, works: [] }).length, choice.works.length, works()) : works(),
    model.threads.length < 2 ? null : group("Threads", model.threads.map((count) => ({
      key: String(count), label: [String(count)],
    })), choice.threads.map(String), (chosen) => changed({ ...choice, threads: chosen.map(Number) })),
  ];
  const loadGenerator = model.engines.find((engine) => engine.loadGenerator);
  const floor = loadGenerator ? h("span", { class: "floor", title: "The null engine: the overhead of the load generator. No competitor." },
    legendMark(loadGenerator, theme), "load generator") : null;
  return h("nav", { class: "filters", "aria-label": "What is shown" }, ...groups, floor);
}

/** Opened as long as something in it is chosen. */
const fold = (all: number, chosen: number, inside: HTMLElement): HTMLElement =>
  h("details", { class: "fold", open: chosen > 0 }, h("summary", {}, `${chosen > 0 ? `${chosen} of ` : ""}${all} workload${all === 1 ? "" : "s"}`), inside);

export interface Item {
  key: string;
  label: Child[];
  /** What its button is known by, where others may have an equal key. */
  name?: string;
  /** In full, where its label is short. */
  title?: string;
}

/** Empty is all: what was left out last comes back when nothing would be left. */
export function group(name: string, items: Item[], chosen: string[], changed: (chosen: string[]) => void): HTMLElement {
  const known = chosen.filter((key) => items.some((item) => item.key === key));
  const on = (key: string) => known.length === 0 || known.includes(key);
  return h("fieldset", {}, h("legend", {}, name), ...items.map((item) =>
    h("button", {
      type: "button", "aria-pressed": String(on(item.key)), "data-filter": item.name ?? item.key, ...(item.title ? { title: item.title } : {}),
      click: () => changed(toggled(items.map((item) => item.key), known, item.key)),
    }, ...item.label.map((part) => (typeof part === "string" ? h("span", {}, part) : part)))));
}

/** The choice after a click: from all to all but this one; all again when it is complete or empty. */
export function toggled(all: string[], chosen: string[], key: string): string[] {
  const before = chosen.length === 0 ? all : chosen;
  const after = before.includes(key) ? before.filter((other) => other !== key) : all.filter((other) => before.includes(other) || other === key);
  return after.length === all.length ? [] : after;
}
