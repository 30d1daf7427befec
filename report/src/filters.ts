// The filter bar at the top of the page: engines, workloads and threads. It is also the legend.

import { engineColour, markerOutline, type Theme } from "./colour";
import { h, svg, type Child } from "./dom";
import type { Engine, Model, Work } from "./model";
import { QUESTIONS } from "./questions";
import { chosenWorks, suiteParts, rankedQuestions, type Choice } from "./view";

/** A page with more workloads is filtered by question and by part; the names of its workloads are folded. */
const WORKS_MAX = 6;

export function legendMark(engine: Engine, theme: Theme): SVGElement {
  return svg("svg", { viewBox: "0 0 10 10", class: "mark", "aria-hidden": "true" },
    svg("path", { d: markerOutline(engine), fill: engineColour(engine, theme) }));
}

/** Creates the filters; `onChange` receives the choice after a click. */
export function createFilters(model: Model, choice: Choice, theme: Theme, onChange: (choice: Choice) => void): HTMLElement {
  // The job that prepares the drive's file measures nothing.
  const isIdle = (engine: Engine) => engine.drive && !model.cases.some((one) => one.engine.id === engine.id);
  const real = model.engines.filter((engine) => !engine.loadGenerator && !isIdle(engine));
  // The drive's jobs can be filtered only if there are no engines; with engines all of them are shown.
  const isDriveOnly = real.every((engine) => engine.drive);
  const engines = real.filter((engine) => isDriveOnly || !engine.drive);
  const many = model.works.length > WORKS_MAX, parts = suiteParts(model);
  // Long names with the same beginning would be cut to the same text: the key tells them apart.
  const workLabel = (work: Work) => (model.works.some((other) => other !== work && other.title === work.title) ? work.key : work.name);
  const createWorksGroup = () => createFilterGroup("Workloads", chosenWorks(model, { ...choice, works: [] }).map((work) => ({
    key: work.key, label: [workLabel(work)], title: work.name,
  })), choice.works, (chosen) => onChange({ ...choice, works: chosen }));
  const groups: (HTMLElement | null)[] = [
    createFilterGroup(isDriveOnly ? "Jobs" : "Engines", engines.map((engine) => ({
      key: engine.name, label: [legendMark(engine, theme), engine.name],
    })), choice.engines, (chosen) => onChange({ ...choice, engines: chosen })),
    many ? createFilterGroup("Questions", rankedQuestions(model).map((question) => ({
      key: question, label: [QUESTIONS[question].short], name: `question ${question}`,
    })), choice.questions, (chosen) => onChange({ ...choice, questions: chosen })) : null,
    parts.length < 2 ? null : createFilterGroup("Parts", parts.map((part) => ({
      key: part, label: [part], name: `part ${part}`,
    })), choice.parts, (chosen) => onChange({ ...choice, parts: chosen })),
    model.works.length < 2 ? null : many ? createFold(chosenWorks(model, { ...choice, works: [] }).length, choice.works.length, createWorksGroup()) : createWorksGroup(),
    model.threads.length < 2 ? null : createFilterGroup("Threads", model.threads.map((count) => ({
      key: String(count), label: [String(count)],
    })), choice.threads.map(String), (chosen) => onChange({ ...choice, threads: chosen.map(Number) })),
  ];
  const loadGenerator = model.engines.find((engine) => engine.loadGenerator);
  const floor = loadGenerator ? h("span", { class: "floor", title: "The null engine: the overhead of the load generator. No competitor." },
    legendMark(loadGenerator, theme), "load generator") : null;
  return h("nav", { class: "filters", "aria-label": "What is shown" }, ...groups, floor);
}

/** Folds a group; it is open while a workload is chosen. */
const createFold = (all: number, chosen: number, inside: HTMLElement): HTMLElement =>
  h("details", { class: "fold", open: chosen > 0 }, h("summary", {}, `${chosen > 0 ? `${chosen} of ` : ""}${all} workload${all === 1 ? "" : "s"}`), inside);

export interface Item {
  key: string;
  label: Child[];
  /** The button's name, if another group may have the same key. */
  name?: string;
  /** The full text, if the label is short. */
  title?: string;
}

/** Creates a group of toggle buttons. An empty choice means all. */
export function createFilterGroup(name: string, items: Item[], chosen: string[], onChange: (chosen: string[]) => void): HTMLElement {
  const chosenKeys = chosen.filter((key) => items.some((item) => item.key === key));
  const isOn = (key: string) => chosenKeys.length === 0 || chosenKeys.includes(key);
  return h("fieldset", {}, h("legend", {}, name), ...items.map((item) =>
    h("button", {
      type: "button", "aria-pressed": String(isOn(item.key)), "data-filter": item.name ?? item.key, ...(item.title ? { title: item.title } : {}),
      click: () => onChange(toggleKey(items.map((item) => item.key), chosenKeys, item.key)),
    }, ...item.label.map((part) => (typeof part === "string" ? h("span", {}, part) : part)))));
}

/** Returns the choice after a click on a key. A complete or empty choice becomes the empty one, which means all. */
export function toggleKey(all: string[], chosen: string[], key: string): string[] {
  const before = chosen.length === 0 ? all : chosen;
  const after = before.includes(key) ? before.filter((other) => other !== key) : all.filter((other) => before.includes(other) || other === key);
  return after.length === all.length ? [] : after;
}
