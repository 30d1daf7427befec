// Figure: the verdicts, pair by pair. It shows each trial's ratio to the base's trial of the same number,
// the interval that decides the verdict, and how the interval narrowed with each pair.

import type { Theme } from "../colour";
import { h, type Child } from "../dom";
import { createControl, type Drawing, type Figure } from "../drawing";
import { legendMark } from "../filters";
import { NONE } from "../format";
import { latencyOps, unique } from "../model";
import {
  formatFineRatio, formatJudgedRatio, pairedFigures, questionLabel, formatInterval, verdictSign, formatVerdict, type PairedFigure,
} from "../paired";
import { threadCounts, equalityShare, type View } from "../view";
import { drawAxis, drawConvergence, hasCourses, stripHeight, pairsPicture, pairScale, drawStrip, type Scale } from "./strips";

export const pairs: Figure = { name: "pairs", draw };

/** The most rows that are shown together; more are shown one question at a time. */
const ROWS_MAX = 6;

const HOW = [
  "Each trial of an engine is compared with the base's trial of the same number, which ran next "
  + "to it: what slows both cancels. The ratio is the geometric mean of the pairs; band and "
  + "whisker are its interval of 99 %, by Student's t of the logarithms.",
];

/** Explains the verdicts of a run. */
const explainDecided = (view: View): string =>
  `Decided: the interval leaves 1 out. Equal: all of it lies within ${Number((100 * equalityShare(view)).toPrecision(2))} % of 1.`;

const HOW_CONVERGED = "As pairs came: the interval after 4, 5, 6 and more pairs, with 1 as a dashed line.";

const NOTE = "A dot is a pair of trials, from top to bottom in the order in which they came; "
  + "the whisker is the interval of their ratio, in which 1 is no difference. ▶ better, ◀ worse.";

function draw(view: View): Drawing | null {
  const all = pairedFigures(view);
  if (view.work.drive || !all.some((one) => one.pairs.length > 1)) return null;
  const questions = unique(all.map((one) => one.question)), many = all.length > ROWS_MAX;
  const options = questions.map((words) => ({ value: words, label: words }));
  const question = createControl(view, "pairs.of", "of", options, defaultQuestion(view, questions));
  const paired = many ? all.filter((one) => one.question === question.value) : all;
  const bases = unique(paired.map((one) => one.base));
  const against = bases.length === 1 ? bases[0] : "the first engine of each class";
  return {
    title: `Pair by pair: against ${against}`,
    note: NOTE,
    how: [...HOW, explainDecided(view), ...(hasCourses(paired) ? [HOW_CONVERGED] : [])],
    controls: many ? [question] : [],
    element: (theme) => pairsTable(paired, questions.length > 1, pairScale(paired), theme),
    picture: (theme) => pairsPicture(paired, pairScale(paired), theme),
    table: () => ({
      head: ["engine", "over", "of", "verdict", "ratio", "interval", "pairs", "each pair"],
      words: 4,
      rows: all.map((one) => [
        one.engine.name, one.base, one.question, formatVerdict(one),
        formatJudgedRatio(one), formatInterval(one),
        one.pairs.length > 0 ? String(one.pairs.length) : NONE,
        one.pairs.map((pair) => formatFineRatio(pair.ratio)).join(", "),
      ]),
    }),
  };
}

/** Returns the question of the first role with the most threads, which the run's answer is about. */
function defaultQuestion(view: View, questions: string[]): string {
  const [first = ""] = view.work.roles;
  const words = questionLabel(view, first, threadCounts(view).at(-1) ?? null, latencyOps(view.cases, first)[0] ?? null);
  return questions.includes(words) ? words : questions[0] ?? "";
}

/** Creates the table; `several`: the figure has several questions. */
function pairsTable(
  paired: PairedFigure[], several: boolean, scale: Scale, theme: Theme,
): HTMLElement {
  const questions = unique(paired.map((one) => one.question));
  // With one engine each row is a question; with several each question has a group of rows.
  const isOneEngine = unique(paired.map((one) => one.engine)).length === 1;
  const courses = hasCourses(paired);
  const headCell = (text: string, name = "") => h("th", { scope: "col", class: name }, text);
  const head = h("tr", {},
    headCell(isOneEngine ? paired[0]?.engine.name ?? "" : "engine"),
    h("th", { scope: "col", class: "plot" },
      h("span", { class: "hidden" }, "plot of the pairs' ratios"), drawAxis(scale, theme)),
    courses ? headCell("as pairs came", "convergence") : null, headCell("ratio", "number"), headCell("interval", "number"),
    headCell("verdict"));
  const questionRow = (text: string) =>
    h("tr", { class: "pair" }, h("th", { scope: "rowgroup", colspan: courses ? "6" : "5" }, text));
  const rowName = ({ engine, question }: PairedFigure) =>
    [legendMark(engine, theme), " ", isOneEngine ? question : engine.name];
  const bodies = questions.map((question) => h("tbody", {},
    several && !isOneEngine ? questionRow(question) : null,
    ...paired.filter((one) => one.question === question)
      .map((one) => pairRow(one, rowName(one), courses, scale, theme))));
  const label = "Ratios, pair by pair";
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h("table", { class: "pairs paired" }, h("thead", {}, head), ...bodies));
}

function pairRow(one: PairedFigure, name: Child[], courses: boolean, scale: Scale, theme: Theme): HTMLElement {
  const { engine, relative } = one;
  const sign = h("span", { class: "sign", "aria-hidden": "true" }, verdictSign(one));
  return h("tr", { "data-engine": engine.name, "data-question": one.question },
    h("th", { scope: "row" }, ...name),
    h("td", { class: "plot" }, drawStrip(one, scale, theme)),
    courses ? h("td", { class: "convergence" }, drawConvergence(one, stripHeight(one), theme) ?? NONE) : null,
    h("td", { class: "number ratio" }, sign, formatJudgedRatio(one)),
    h("td", { class: "number range" }, formatInterval(one)),
    h("td", { class: `verdict ${relative.decided ? "decided" : "undecided"}` }, formatVerdict(one)));
}
