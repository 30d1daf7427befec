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

const VERDICTS = ["does not hold", "undecided", "holds"];

/** What marks a row: it was published elsewhere, or what came of a claim. */
function kindOf(sheet: Sheet, row: string[]): string {
  const first = row[0] ?? "";
  if (sheet.name === "claims") return VERDICTS.find((word) => first.startsWith(word))?.replace(/ /g, "-") ?? "";
  return first.startsWith("published") ? "published" : "";
}

/** So many claims without a verdict are seen at once. */
const UNTOLD_MAX = 3;

function tableOf(sheet: Sheet, rows: string[][], caption: string): HTMLElement {
  const element = stacked({ head: sheet.head, rows, left: sheet.left }, caption);
  element.querySelectorAll("tbody tr").forEach((row, at) => {
    const kind = kindOf(sheet, rows[at] ?? []);
    if (kind) row.classList.add(kind);
  });
  return element;
}

/** What was decided, first; what is undecided is folded where it is much. */
function claimed(sheet: Sheet, notes: HTMLElement[], words: HTMLElement[]): HTMLElement {
  const untold = sheet.rows.filter((row) => kindOf(sheet, row) === "undecided"), told = sheet.rows.filter((row) => !untold.includes(row));
  const fold = untold.length > UNTOLD_MAX;
  return h("div", { class: "sheet", "data-sheet": sheet.name }, h("h3", {}, sheet.title),
    fold && told.length === 0 ? null : tableOf(sheet, fold ? told : [...told, ...untold], sheet.title),
    fold ? h("details", {}, h("summary", {}, `${untold.length} undecided`), tableOf(sheet, untold, `${sheet.title}: undecided`), ...notes) : null,
    ...(fold ? [] : notes), h("details", {}, h("summary", {}, "How a claim is judged"), ...words));
}

function shown(sheet: Sheet): HTMLElement {
  const words = sheet.aid.map((text) => h("p", { class: "note" }, text));
  const notes = sheet.notes.map((text) => h("p", { class: "note" }, text));
  if (sheet.name === "claims") return claimed(sheet, notes, words);
  const element = tableOf(sheet, sheet.rows, sheet.title);
  // The question stands before the two machines; how a table is read, after it.
  const body = sheet.name === "study" ? [...words, element, ...notes] : [element, ...notes, ...words];
  return h("div", { class: "sheet", "data-sheet": sheet.name },
    h("details", {}, h("summary", {}, h("span", { class: "title" }, sheet.title), ` · ${sheet.rows.length} rows`), ...body));
}

/** Claims first of all: they are the answer. Of a study its figure, and its tables to be unfolded. */
export function sheets(all: Sheet[], drawn: HTMLElement): HTMLElement | null {
  if (all.length === 0) return null;
  const study = all.some((sheet) => sheet.name === "study");
  const heading = study ? "The study next to this run" : "Claims";
  const claims = all.filter((sheet) => sheet.name === "claims"), rest = all.filter((sheet) => sheet.name !== "claims");
  return h("section", { id: "study", "aria-label": heading }, h("h2", {}, heading), ...claims.map(shown), study ? drawn : null, ...rest.map(shown));
}
