// Which cases and figures of a list of figures are shown: chosen in a bar, kept in the address.

import { appearance, type Shade } from "./appearance";
import type { Definition } from "./data";
import { h, keepFocus } from "./dom";
import { group } from "./filters";
import { unique } from "./model";
import { table } from "./table";
import { titled } from "./titles";

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

/** A bar to choose by, the button of the colours, and what is shown of the choice, made anew at each change. */
export function chosen(all: Figure[], show: (choice: Choice) => HTMLElement): { bar: HTMLElement; button: HTMLElement; shown: HTMLElement } {
  let choice = parse(location.hash);
  const remember = (next: Choice): void => {
    choice = next;
    history.replaceState(null, "", write(choice) || location.pathname + location.search);
  };
  const button = appearance(() => choice.theme, (theme) => remember({ ...choice, theme }));
  const bar = h("div", { class: "filterbar still" }), shown = h("div", {});
  const refresh = (): void => {
    keepFocus(bar, "filter", () => bar.replaceChildren(filters(all, choice, (next) => {
      remember(next);
      refresh();
    })));
    shown.replaceChildren(show(choice));
  };
  addEventListener("hashchange", () => {
    choice = parse(location.hash);
    refresh();
  });
  refresh();
  return { bar, button, shown };
}

/** Those of a choice; nothing chosen is all. */
export function among<F extends Figure>(all: F[], choice: Choice): F[] {
  const wants = (list: string[], value: string) => list.length === 0 || list.includes(value);
  return all.filter((one) => wants(choice.cases, one.case) && wants(choice.figures, one.figure));
}

/** What each figure is, to be unfolded. */
export const defined = (definitions: Definition[]): HTMLElement =>
  h("details", {}, h("summary", {}, "What each figure is"),
    table({ head: ["figure", "unit", "better", "what it is"], words: 4, rows: definitions.map((one) => [one.name, one.unit, one.direction, one.help]) }, "Figures"));

function parse(hash: string): Choice {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  const theme = parameters.get("theme");
  return { cases: parameters.getAll("case"), figures: parameters.getAll("figure"), theme: theme === "light" || theme === "dark" ? theme : null };
}

function write({ cases, figures, theme }: Choice): string {
  const parameters = new URLSearchParams([...cases.map((one) => ["case", one]), ...figures.map((one) => ["figure", one])] as [string, string][]);
  if (theme) parameters.set("theme", theme);
  const text = parameters.toString();
  return text ? `#${text}` : "";
}

function filters(all: Figure[], choice: Choice, changed: (choice: Choice) => void): HTMLElement {
  const cases = unique(all.map((one) => one.case)), names = unique(all.map((one) => one.figure));
  return h("nav", { class: "filters", "aria-label": "What is shown" },
    cases.length < 2 ? null : group("Cases", cases.map((name) => ({ key: name, label: [name] })), choice.cases, (next) => changed({ ...choice, cases: next })),
    names.length < 2 ? null : group("Figures", names.map((name) => ({ key: name, label: [titled(name)] })), choice.figures, (next) => changed({ ...choice, figures: next })));
}
