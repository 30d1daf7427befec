// The page of a history: a suite's figures over its runs, by commit or version, and where they changed.

import { filterFigures, ARROWS, createChooser, definitionsTable, type Choice } from "../chosen";
import { coursePlot } from "../course";
import type { TrendFigure, Trend, TrendData } from "../trends";
import { h } from "../dom";
import { verdictMark, WORDS } from "../forest";
import { formatChange, formatDate, NONE, formatValue } from "../format";
import { unique } from "../model";
import { download } from "../save";
import { createSection } from "../sections";
import { createTable } from "../table";
import { figureTitle } from "../titles";

export function showTrend(root: HTMLElement, data: TrendData, json: string): void {
  const { trend } = data;
  const title = `${trend.suite}: ${trend.runs.length} run${trend.runs.length === 1 ? "" : "s"}`;
  document.title = `${title}: kvdyno`;
  const { bar, button, content } = createChooser(trend.figures, (choice) => figuresSection(data, choice));
  const raw = h("button", { type: "button", class: "raw", click: () => download(new Blob([json], { type: "application/json" }), "history.json") },
    `The history as JSON (${Math.ceil(json.length / 1024)} KiB)`);
  root.replaceChildren(...[
    h("header", { class: "head row" }, h("div", {}, h("p", { class: "kicker" }, "kvdyno · history"), h("h1", {}, title)), button),
    gateElement(trend), changesSection(trend), bar, content, remarksSection(data), createSection("raw", "Raw data", raw),
  ].filter((one) => one !== null));
}

const GATES: Record<NonNullable<Trend["gate"]>["result"], string> = {
  passed: "The gate passed", undecided: "The gate is undecided", failed: "The gate failed", cannot_judge: "The gate cannot judge",
};

/** Creates the result: that of the gate, if there is one, and the number of changed figures. */
function gateElement(trend: Trend): HTMLElement {
  const changedCount = trend.figures.filter((course) => course.changes.length > 0).length;
  const sentence = `${changedCount || "None"} of ${trend.figures.length} figures changed ${changedCount === 1 ? "its" : "their"} level over these runs.`;
  const list = trend.gate?.regressed ?? [], open = trend.gate?.result === "undecided" ? trend.gate.may_hide : [];
  return h("div", { class: "result" },
    trend.gate ? h("p", { class: `sentence ${trend.gate.result}` }, h("strong", {}, `${GATES[trend.gate.result]}. `), list.length > 0 ? `Worse than the last stable level: ${list.join("; ")}.` : null, open.length > 0 ? `Perhaps worse: ${open.join("; ")}.` : null) : null,
    h("p", { class: "sentence" }, sentence));
}

const figureScope = (course: TrendFigure): string => course.role ?? course.phase;

/** Creates the table of changes by run, the newest first. */
function changesSection(trend: Trend): HTMLElement | null {
  const rows = trend.figures.flatMap((course) => course.changes.map((change) => ({ course, change }))).sort((a, b) => b.change.run_index - a.change.run_index);
  if (rows.length === 0) return null;
  return createSection("changes", "What changed", createTable({
    head: ["run", "began", "figure", "change", "verdict", "what else is new"], words: 6,
    rows: rows.map(({ course, change }) => {
      const run = trend.runs[change.run_index];
      return [run?.label ?? "", formatDate(run?.started_unix_ns ?? 0), `${course.case}, ${figureScope(course)}: ${figureTitle(course.figure)}`, formatChange(change.ratio), WORDS[change.verdict], run?.differs.join("; ") || NONE];
    }),
  }, "Where figures changed"));
}

function figuresSection(data: TrendData, choice: Choice): HTMLElement {
  const { trend } = data;
  const list = filterFigures(trend.figures, choice);
  const head = h("tr", {}, h("th", { scope: "col" }, "figure"), h("th", { scope: "col", class: "plot" }, "over the runs"),
    ...["first level", "level now", "newest"].map((text) => h("th", { scope: "col", class: "number" }, text)), h("th", { scope: "col" }, "last change"));
  const figureHelp = (figure: string) => data.definitions.find((one) => one.name === figure)?.help;
  const body = unique(list.map((course) => course.case)).map((name) => h("tbody", {},
    h("tr", { class: "pair" }, h("th", { scope: "rowgroup", colspan: "6" }, name)),
    ...list.filter((course) => course.case === name).map((course) => figureRow(course, trend, figureHelp(course.figure)))));
  return createSection("figures", "Figures",
    h("p", { class: "note" }, "A dot is a run's median over its trials, a line the level between two changes; each plot has an axis of its own. ↑ more is better, ↓ less is better."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures over the runs" },
      h("table", { class: "pairs courses" }, h("caption", { class: "hidden" }, "Figures over the runs"), h("thead", {}, head), ...body)));
}

function figureRow(course: TrendFigure, trend: Trend, help: string | undefined): HTMLElement {
  const change = course.changes.at(-1);
  const numberCell = (value: number | null | undefined, name: string) =>
    h("td", { class: "number", "data-name": name }, value == null ? NONE : formatValue(value, course.unit));
  return h("tr", {},
    h("th", { scope: "row", title: help }, h("span", { class: "scope" }, figureScope(course)), ` ${figureTitle(course.figure)} `, h("span", { class: "way" }, ARROWS[course.direction])),
    h("td", { class: "plot" }, coursePlot(course, trend.runs)),
    numberCell(course.levels[0], "first level"), numberCell(course.levels.at(-1), "level now"), numberCell(course.values.at(-1), "newest"),
    change ? h("td", { class: `verdict ${change.verdict}` }, verdictMark(change.verdict), ` ${formatChange(change.ratio)} at ${trend.runs[change.run_index]?.label ?? ""}`) : h("td", {}, NONE));
}

const AID = "A change is where the runs before and after it differ by more than 1 % and by more than chance: E-divisive (Matteson and James, 2014) with Student's t (Fleming and others, 2023), p < 0.001. "
  + "The gate compares the newest run with the last level of at least 4 runs; how much these differ makes the interval of 99 %.";

function remarksSection(data: TrendData): HTMLElement {
  return createSection("method", "How sure this is",
    h("dl", { class: "facts" }, ...data.remarks.flatMap(([word, text]) => [h("dt", {}, word), h("dd", {}, text)])),
    h("p", { class: "note" }, AID),
    h("details", {}, h("summary", {}, "The runs"),
      createTable({ head: ["run", "began", "id", "what else is new"], words: 4, rows: data.trend.runs.map((run) => [run.label, formatDate(run.started_unix_ns), run.run, run.differs.join("; ") || NONE]) }, "Runs")),
    definitionsTable(data.definitions));
}
