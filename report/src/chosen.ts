// A bar to choose cases and figures by. The choice is kept in the address.

import { parseHash, parseShade, formatHash, storeHash } from "./address";
import { createShadeButton, type Shade } from "./appearance";
import type { Definition } from "./data";
import { h, keepFocus } from "./dom";
import { createFilterGroup } from "./filters";
import { unique } from "./model";
import { createTable } from "./table";
import { figureTitle } from "./titles";

export interface Choice {
  cases: string[];
  figures: string[];
  theme: Shade | null;
}

interface Figure {
  case: string;
  figure: string;
}

export const ARROWS = { higher: "↑", lower: "↓", neither: "" };

/** Creates the filter bar, the shade button, and the content, which is rebuilt at each change of the choice. */
export function createChooser(all: Figure[], show: (choice: Choice) => HTMLElement): { bar: HTMLElement; button: HTMLElement; content: HTMLElement } {
  let choice = parseChoice(location.hash);
  const storeChoice = (next: Choice): void => {
    choice = next;
    storeHash(formatChoice(choice));
  };
  const button = createShadeButton(() => choice.theme, (theme) => storeChoice({ ...choice, theme }));
  const bar = h("div", { class: "filterbar still" }), content = h("div", {});
  const refresh = (): void => {
    keepFocus(bar, "filter", () => bar.replaceChildren(createFilters(all, choice, (next) => {
      storeChoice(next);
      refresh();
    })));
    content.replaceChildren(show(choice));
  };
  addEventListener("hashchange", () => {
    choice = parseChoice(location.hash);
    refresh();
  });
  refresh();
  return { bar, button, content };
}

/** Returns the figures of a choice; an empty choice is all of them, as is one of names that are gone. */
export function filterFigures<F extends Figure>(all: F[], choice: Choice): F[] {
  const keepKnown = (names: string[], known: string[]) => names.filter((name) => known.includes(name));
  const cases = keepKnown(choice.cases, all.map((one) => one.case)), figures = keepKnown(choice.figures, all.map((one) => one.figure));
  const matches = (list: string[], value: string) => list.length === 0 || list.includes(value);
  return all.filter((one) => matches(cases, one.case) && matches(figures, one.figure));
}

/** Creates the table of definitions, folded. */
export const definitionsTable = (definitions: Definition[]): HTMLElement =>
  h("details", {}, h("summary", {}, "What each figure is"),
    createTable({ head: ["figure", "unit", "better", "what it is"], words: 4, rows: definitions.map((one) => [one.name, one.unit, one.direction, one.help]) }, "Figures"));

function parseChoice(hash: string): Choice {
  const parameters = parseHash(hash);
  return { cases: parameters.getAll("case"), figures: parameters.getAll("figure"), theme: parseShade(parameters) };
}

function formatChoice({ cases, figures, theme }: Choice): string {
  const parameters = new URLSearchParams([...cases.map((one) => ["case", one]), ...figures.map((one) => ["figure", one])] as [string, string][]);
  if (theme) parameters.set("theme", theme);
  return formatHash(parameters);
}

function createFilters(all: Figure[], choice: Choice, onChange: (choice: Choice) => void): HTMLElement {
  const cases = unique(all.map((one) => one.case)), names = unique(all.map((one) => one.figure));
  return h("nav", { class: "filters", "aria-label": "What is shown" },
    cases.length < 2 ? null : createFilterGroup("Cases", cases.map((name) => ({ key: name, label: [name] })), choice.cases, (next) => onChange({ ...choice, cases: next })),
    names.length < 2 ? null : createFilterGroup("Figures", names.map((name) => ({ key: name, label: [figureTitle(name)] })), choice.figures, (next) => onChange({ ...choice, figures: next })));
}
