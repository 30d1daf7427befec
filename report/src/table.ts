// Tables: what stands behind each figure, for those who read numbers or cannot see pictures.

import { h } from "./dom";

export interface TableData {
  head: string[];
  rows: string[][];
  /** Columns from the left that hold words; all others hold numbers. */
  words?: number;
  /** Which columns hold words, where those are not the first ones. */
  left?: boolean[];
}

/** A table that on a narrow screen becomes a card for each row: nothing lies outside of it. */
export function stacked(data: TableData, caption: string): HTMLElement {
  const element = table(data, caption);
  element.classList.add("stacked");
  for (const row of element.querySelectorAll("tbody tr")) {
    [...row.children].forEach((cell, at) => cell.setAttribute("data-head", data.head[at] ?? ""));
  }
  return element;
}

export function table(data: TableData, caption: string): HTMLElement {
  const words = data.words ?? 1;
  const side = (at: number) => ((data.left?.[at] ?? at < words) ? "" : "number");
  const head = h("tr", {}, ...data.head.map((text, at) => h("th", { scope: "col", class: side(at) }, text)));
  const rows = data.rows.map((row) =>
    h("tr", {}, ...row.map((text, at) =>
      at === 0 ? h("th", { scope: "row", class: side(at) }, text) : h("td", { class: side(at) }, text))));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {},
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, head),
      h("tbody", {}, ...rows)));
}
