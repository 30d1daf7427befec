// A published study beside this run, and the suite's claims: tables that are shown as they stand.

import { h } from "./dom";
import { stacked } from "./table";

export interface Sheet {
  name: string;
  title: string;
  head: string[];
  left: boolean[];
  rows: string[][];
  notes: string[];
  aid: string[];
}

const VERDICTS = ["does not hold", "cannot tell", "holds"];

/** What marks a row: it was published elsewhere, or what came of a claim. */
function kindOf(sheet: Sheet, row: string[]): string {
  const first = row[0] ?? "";
  if (sheet.name === "claims") return VERDICTS.find((word) => first.startsWith(word))?.replace(/ /g, "-") ?? "";
  return first.startsWith("published") ? "published" : "";
}

function shown(sheet: Sheet): HTMLElement {
  const element = stacked({ head: sheet.head, rows: sheet.rows, left: sheet.left }, sheet.title);
  element.querySelectorAll("tbody tr").forEach((row, at) => {
    const kind = kindOf(sheet, sheet.rows[at] ?? []);
    if (kind) row.classList.add(kind);
  });
  const words = sheet.aid.map((text) => h("p", { class: "note" }, text));
  return h("div", { class: "sheet", "data-sheet": sheet.name },
    h("h3", {}, sheet.title),
    // The question stands before the two machines; how a table is read, after it.
    ...(sheet.name === "study" ? words : []), element,
    ...sheet.notes.map((text) => h("p", { class: "note" }, text)),
    ...(sheet.name === "study" ? [] : words));
}

/** What the page begins with where the suite repeats a study or claims anything; the study's figures
 * are drawn between the two machines and its tables. */
export function sheets(all: Sheet[], drawn: HTMLElement): HTMLElement | null {
  if (all.length === 0) return null;
  const study = all.some((sheet) => sheet.name === "study");
  const heading = study ? "The study, and this run beside it" : "Claims";
  return h("section", { id: "study", "aria-label": heading }, h("h2", {}, heading),
    ...all.flatMap((sheet) => (sheet.name === "study" ? [shown(sheet), drawn] : [shown(sheet)])));
}
