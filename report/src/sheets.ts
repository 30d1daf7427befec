// Tables that the program made: a published study next to this run, and the suite's claims.

import { h } from "./dom";
import { createStackedTable } from "./table";

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

/** Returns the CSS class of a row: `published`, or the verdict of a claim. */
function rowClass(sheet: Sheet, row: string[]): string {
  const first = row[0] ?? "";
  if (sheet.name === "claims") return VERDICTS.find((word) => first.startsWith(word))?.replace(/ /g, "-") ?? "";
  return first.startsWith("published") ? "published" : "";
}

/** The most undecided claims that are not folded. */
const UNDECIDED_MAX = 3;

function sheetTable(sheet: Sheet, rows: string[][], caption: string): HTMLElement {
  const element = createStackedTable({ head: sheet.head, rows, left: sheet.left }, caption);
  element.querySelectorAll("tbody tr").forEach((row, at) => {
    const kind = rowClass(sheet, rows[at] ?? []);
    if (kind) row.classList.add(kind);
  });
  return element;
}

/** Creates the table of claims, decided ones first; many undecided ones are folded. */
function claimsSheet(sheet: Sheet, notes: HTMLElement[], words: HTMLElement[]): HTMLElement {
  const undecided = sheet.rows.filter((row) => rowClass(sheet, row) === "undecided"), decided = sheet.rows.filter((row) => !undecided.includes(row));
  const fold = undecided.length > UNDECIDED_MAX;
  return h("div", { class: "sheet", "data-sheet": sheet.name }, h("h3", {}, sheet.title),
    fold && decided.length === 0 ? null : sheetTable(sheet, fold ? decided : [...decided, ...undecided], sheet.title),
    fold ? h("details", {}, h("summary", {}, `${undecided.length} undecided`), sheetTable(sheet, undecided, `${sheet.title}: undecided`), ...notes) : null,
    ...(fold ? [] : notes), h("details", {}, h("summary", {}, "How a claim is judged"), ...words));
}

function sheetElement(sheet: Sheet): HTMLElement {
  const words = sheet.aid.map((text) => h("p", { class: "note" }, text));
  const notes = sheet.notes.map((text) => h("p", { class: "note" }, text));
  if (sheet.name === "claims") return claimsSheet(sheet, notes, words);
  const element = sheetTable(sheet, sheet.rows, sheet.title);
  // The study's question comes before its table; how to read other tables comes after them.
  const body = sheet.name === "study" ? [...words, element, ...notes] : [element, ...notes, ...words];
  return h("div", { class: "sheet", "data-sheet": sheet.name },
    h("details", {}, h("summary", {}, h("span", { class: "title" }, sheet.title), ` · ${sheet.rows.length} rows`), ...body));
}

/** Creates the section: claims first, then a study's figure and its folded tables; null: there are no sheets. */
export function sheetsSection(all: Sheet[], figureElement: HTMLElement): HTMLElement | null {
  if (all.length === 0) return null;
  const study = all.some((sheet) => sheet.name === "study");
  const heading = study ? "The study next to this run" : "Claims";
  const claims = all.filter((sheet) => sheet.name === "claims"), rest = all.filter((sheet) => sheet.name !== "claims");
  return h("section", { id: "study", "aria-label": heading }, h("h2", {}, heading), ...claims.map(sheetElement), study ? figureElement : null, ...rest.map(sheetElement));
}
