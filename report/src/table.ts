// Tables: the numbers behind each figure, also for readers who cannot see pictures.

import { h } from "./dom";

export interface TableData {
  head: string[];
  rows: string[][];
  /** The number of text columns, from the left; all others hold numbers. Absent: 1. */
  words?: number;
  /** Whether each column holds text, if those are not the first ones. */
  left?: boolean[];
}

/** Creates a table that becomes a card per row on a narrow screen. */
export function createStackedTable(data: TableData, caption: string): HTMLElement {
  const element = createTable(data, caption);
  element.classList.add("stacked");
  for (const row of element.querySelectorAll("tbody tr")) {
    [...row.children].forEach((cell, at) => cell.setAttribute("data-head", data.head[at] ?? ""));
  }
  return element;
}

export function createTable(data: TableData, caption: string): HTMLElement {
  const words = data.words ?? 1;
  const cellClass = (at: number) => ((data.left?.[at] ?? at < words) ? "" : "number");
  const head = h("tr", {}, ...data.head.map((text, at) => h("th", { scope: "col", class: cellClass(at) }, text)));
  const rows = data.rows.map((row) =>
    h("tr", {}, ...row.map((text, at) =>
      at === 0 ? h("th", { scope: "row", class: cellClass(at) }, text) : h("td", { class: cellClass(at) }, text))));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {},
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, head),
      h("tbody", {}, ...rows)));
}
