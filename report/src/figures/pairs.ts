// The verdicts, pair by pair: each trial's ratio to the base's trial of that number, the interval
// by which the program judges them, and how that interval became narrow as pairs came in.

import type { Theme } from "../colour";
import { h, type Child } from "../dom";
import { control, type Drawing, type Figure } from "../drawing";
import { legendMark } from "../filters";
import { NONE } from "../format";
import { unique } from "../model";
import {
  fine, pairedFigures, questionOf, rangeOf, signOf, verdictOf, type PairedFigure,
} from "../paired";
import { threadsOf, withinOf, type View } from "../view";
import { axisOf, convergenceOf, hasCourses, heightOf, pictureOf, scaleOf, stripOf, type Scale } from "./strips";

export const pairs: Figure = { name: "pairs", draw };

/** More rows than this are shown a question at a time. */
const ROWS_MAX = 6;

const HOW = [
  "Each trial of an engine is compared with the base's trial of the same number, which ran next "
  + "to it: what slows both cancels. The ratio is the geometric mean of the pairs; band and "
  + "whisker are its interval of 99 %, by Student's t of the logarithms.",
];

/** What the verdicts of a run mean. */
const decidedWords = (view: View): string =>
  `Decided: the interval leaves 1 out. Equal: all of it lies within ${Number((100 * withinOf(view)).toPrecision(2))} % of 1.`;

const HOW_CAME = "As pairs came: the interval after 4, 5, 6 and more pairs, with 1 as a dashed line.";

const NOTE = "A dot is a pair of trials, from top to bottom in the order in which they came; "
  + "the whisker is the interval of their ratio, in which 1 is no difference.";

function draw(view: View): Drawing | null {
  const all = pairedFigures(view);
  if (view.work.drive || !all.some((one) => one.pairs.length > 1)) return null;
  const questions = unique(all.map((one) => one.question)), many = all.length > ROWS_MAX;
  const options = questions.map((words) => ({ value: words, label: words }));
  const of = control(view, "pairs.of", "of", options, mainOf(view, questions));
  const paired = many ? all.filter((one) => one.question === of.value) : all;
  const bases = unique(paired.map((one) => one.base));
  const against = bases.length === 1 ? bases[0] : "the first engine of each class";
  return {
    title: `Pair by pair: against ${against}`,
    note: NOTE,
    how: [...HOW, decidedWords(view), ...(hasCourses(paired) ? [HOW_CAME] : [])],
    controls: many ? [of] : [],
    element: (theme) => tableOf(paired, questions.length > 1, scaleOf(paired), theme),
    picture: (theme) => pictureOf(paired, scaleOf(paired), theme),
    table: () => ({
      head: ["engine", "over", "of", "verdict", "ratio", "interval", "pairs", "each pair"],
      words: 4,
      rows: all.map((one) => [
        one.engine.name, one.base, one.question, verdictOf(one),
        fine(one.relative.ratio), rangeOf(one),
        one.pairs.length > 0 ? String(one.pairs.length) : NONE,
        one.pairs.map((pair) => fine(pair.ratio)).join(", "),
      ]),
    }),
  };
}

/** Of what is asked first, with most threads: what the answer is about. */
function mainOf(view: View, questions: string[]): string {
  const [first = ""] = view.work.roles;
  const words = questionOf(view, first, threadsOf(view).at(-1) ?? null);
  return questions.includes(words) ? words : questions[0] ?? "";
}

/** `several`: there are more questions, here or to be chosen. */
function tableOf(
  paired: PairedFigure[], several: boolean, scale: Scale, theme: Theme,
): HTMLElement {
  const questions = unique(paired.map((one) => one.question));
  // Of one engine each row is a question; of several each question has its rows.
  const alone = unique(paired.map((one) => one.engine)).length === 1;
  const courses = hasCourses(paired);
  const column = (text: string, name = "") => h("th", { scope: "col", class: name }, text);
  const head = h("tr", {},
    column(alone ? paired[0]?.engine.name ?? "" : "engine"),
    h("th", { scope: "col", class: "plot" },
      h("span", { class: "hidden" }, "plot of the pairs' ratios"), axisOf(scale, theme)),
    courses ? column("as pairs came", "convergence") : null, column("ratio", "number"), column("interval", "number"),
    column("verdict"));
  const heading = (text: string) =>
    h("tr", { class: "pair" }, h("th", { scope: "rowgroup", colspan: courses ? "6" : "5" }, text));
  const nameOf = ({ engine, question }: PairedFigure) =>
    [legendMark(engine, theme), " ", alone ? question : engine.name];
  const bodies = questions.map((question) => h("tbody", {},
    several && !alone ? heading(question) : null,
    ...paired.filter((one) => one.question === question)
      .map((one) => rowOf(one, nameOf(one), courses, scale, theme))));
  const label = "Ratios, pair by pair";
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h("table", { class: "pairs paired" }, h("thead", {}, head), ...bodies));
}

function rowOf(one: PairedFigure, name: Child[], courses: boolean, scale: Scale, theme: Theme): HTMLElement {
  const { engine, relative } = one;
  const sign = h("span", { class: "sign", "aria-hidden": "true" }, signOf(one));
  return h("tr", { "data-engine": engine.name, "data-question": one.question },
    h("th", { scope: "row" }, ...name),
    h("td", { class: "plot" }, stripOf(one, scale, theme)),
    courses ? h("td", { class: "convergence" }, convergenceOf(one, heightOf(one), theme) ?? NONE) : null,
    h("td", { class: "number ratio" }, sign, `${fine(relative.ratio)}×`),
    h("td", { class: "number range" }, rangeOf(one)),
    h("td", { class: `verdict ${relative.decided ? "decided" : "undecided"}` }, verdictOf(one)));
}
