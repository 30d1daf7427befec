// Tables: what stands behind each figure, for those who read numbers or cannot see pictures.

import { h } from "./dom";

export interface TableData {
  head: string[];
  rows: string[][];
  /** Columns from the left that hold words; all others hold numbers. */
  words?: number;
}

export function table(data: TableData, caption: string): HTMLElement {
  const words = data.words ?? 1;
  const side = (at: number) => (at < words ? "" : "number");
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
