// Engines in order, question by question: a line for each, with its rank, how many times behind the
// best of its durability class it is, and why it has no figure. Beside what was asked stands how long it took.

import type { Metric } from "../data";
import type { Question, Ranking, Standing } from "../ranked";
import { colourOf, type Theme } from "../colour";
import { h, type Child } from "../dom";
import { control, paragraphs, trialsNote, type Drawing, type Figure } from "../drawing";
import { legendMark } from "../filters";
import { duration, inUnit, NONE, ratio } from "../format";
import { askedOf, opsApart, rangeOf, tailOf, unique, type Engine } from "../model";
import { lostWords } from "../lost";
import { QUESTIONS } from "../questions";
import { chosenEngines, chosenWorks, questionsOf, type View } from "../view";

export const ranking: Figure = { name: "ranking", draw };

/** Questions that only a mix answers: p99 of one of its operations. */
const LATENCIES: Question[] = ["read_latency", "write_latency"];

/** Two engines stand side by side in the scoreboard. */
const ENGINES_MIN = 3;

/** An engine's standings by question. */
interface Row {
  engine: Engine;
  standings: (Standing | null)[];
}

/** What was asked first, then how long it took, the load last. */
function inOrder(questions: Question[], asked: Question | null): Question[] {
  const weight = (question: Question) => (question === asked ? 0 : LATENCIES.includes(question) ? 1 : question === "loading" ? 3 : 2);
  return [...questions].sort((a, b) => weight(a) - weight(b));
}

function draw(view: View): Drawing | null {
  const { choice, model } = view;
  const all = model.data.summary.rankings ?? [];
  const engines = chosenEngines(model, choice);
  if (all.length === 0 || chosenEngines(model, { ...choice, engines: [] }).length < ENGINES_MIN) return null;
  const kept = all.filter((one) => choice.parts.length === 0 || one.part == null || choice.parts.includes(one.part));
  const settings = unique(kept.map((one) => one.setting));
  const setting = control(view, "ranking.setting", "setting", settings.map((words) => ({ value: words, label: words })), settings[0] ?? "");
  // A filter by part may take the main ranking of a question away: then the next one answers it.
  const here = kept.filter((one) => one.setting === setting.value);
  const main = askedOf(model.data, chosenWorks(model, choice));
  const asked = inOrder(questionsOf(model).filter((question) => here.some((one) => one.question === question)), main);
  const chosen = asked.filter((question) => choice.questions.length === 0 || choice.questions.includes(question));
  const questions = chosen.length > 0 ? chosen : asked;
  const order = control(view, "ranking.order", "in the order of",
    questions.map((question) => ({ value: question, label: QUESTIONS[question].short })), questions[0] ?? "");
  const by = questions.indexOf(order.value as never);
  const classes = unique(here.map((one) => one.durability)).map((durability) => {
    const own = questions.map((question) => here.find((one) => one.question === question && one.durability === durability) ?? null);
    return { durability, rankings: own, rows: rowsOf(view, engines, own, by) };
  }).filter((one) => one.rows.length > 0);
  if (classes.length === 0) return null;
  const first = classes[0]!.rankings;
  // A column beside the speed, where it was tested what engines lose.
  const tested = classes.some((one) => one.rows.some((row) => lostOf(row) !== NONE));
  // Of a mix latencies are questions of their own.
  const tails = questions.some((question) => LATENCIES.includes(question)) ? [] : tailsOf(view, first[by] ?? null);
  const titleOf = (at: number) => { const question = questions[at]!, op = first[at]?.op; return op != null && LATENCIES.includes(question) ? `${op} p99` : QUESTIONS[question].short; };
  const width = questions.length + tails.length + (tested ? 2 : 1);
  return {
    title: "Ranking by question",
    whole: true,
    note: `Rank, figure, and how many times behind the best of the same durability class; = tied, ? too few trials. ${trialsNote(view)}.`,
    how: paragraphs("Tied (=, ~): the interval of the ratio, of 99 % over the pairs of trials, does not leave 1 out. With fewer than four trials (?) nothing is.",
      `Measured by: ${first.flatMap((one) => (one ? [`${QUESTIONS[one.question].short}: ${sourceOf(one)}`] : [])).join("; ")}.`),
    controls: [setting, order],
    element: (theme) => h("div", { class: "scroll stacked", tabindex: "0", role: "region", "aria-label": "Ranking" },
      h("table", { class: "ranking" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "engine"), ...questions.flatMap((question, at) => [
          h("th", { scope: "col", title: QUESTIONS[question].long, ...(at === by ? { "aria-sort": "ascending" } : {}) }, titleOf(at)),
          ...(at === by ? tails.map(({ title }) => h("th", { scope: "col", class: "tail" }, title)) : [])]),
          tested ? h("th", { scope: "col" }, "power loss") : null)),
        ...classes.map((one) => h("tbody", { "data-class": one.durability },
          classes.length > 1 ? h("tr", { class: "class" }, h("th", { colspan: String(width), scope: "rowgroup" }, `durability ${one.durability}`)) : null,
          ...one.rows.map((row) => rowElement(row, { ...one, titles: questions.map((_, at) => titleOf(at)), by, tails, tested }, theme)))))),
    table: () => ({
      head: ["engine", "question", "measured by", "part", "durability", "rank", "figure", "range", "n", "times behind", "interval", "power loss", "why there is none"],
      words: 5,
      rows: classes.flatMap((one) => one.rows.flatMap((row) => row.standings.flatMap((standing, at) => {
        const ranking = one.rankings[at];
        return ranking && standing ? [[row.engine.title, QUESTIONS[ranking.question].long, sourceOf(ranking), ranking.part ?? NONE, ranking.durability, ...cellsOf(ranking, standing)]] : [];
      }))),
    }),
  };
}

/** `overwrite: writers, 4 threads`: what a ranking was measured by. */
function sourceOf(one: Ranking): string {
  const role = one.role && one.role !== one.phase ? [`${one.phase}: ${one.role}`] : [one.phase];
  const threads = one.threads == null ? [] : [`${one.threads} thread${one.threads === 1 ? "" : "s"}`];
  return [...role, ...(one.part ? [`part ${one.part}`] : []), ...threads].join(", ");
}

function rowsOf(view: View, engines: Engine[], rankings: (Ranking | null)[], by: number): Row[] {
  const isOf = (standing: Standing, ranking: Ranking, engine: Engine): boolean => {
    const one = standing.group == null ? null : view.model.cases.find((one) => one.index === standing.group);
    return one ? one.engine.id === engine.id : standing.engine === engine.title && ranking.durability === engine.durability;
  };
  const rows = engines.map((engine) => ({
    engine,
    standings: rankings.map((ranking) => ranking?.standings.find((standing) => isOf(standing, ranking, engine)) ?? null),
  })).filter((row) => row.standings.some((standing) => standing));
  const at = (row: Row) => {
    const engine = row.engine, ranking = rankings[by];
    const index = ranking?.standings.findIndex((standing) => isOf(standing, ranking, engine)) ?? -1;
    return index < 0 ? rows.length : index;
  };
  return rows.sort((a, b) => at(a) - at(b));
}

interface Tail {
  title: string;
  of: (engine: Engine) => Metric | null;
}

/** How long the operations of what is asked took, each kind by itself; of more kinds the tables tell. */
const TAILS_MAX = 3;

function tailsOf(view: View, ranking: Ranking | null): Tail[] {
  const { role } = ranking ?? {};
  if (!ranking || role == null || !ranking.figure.endsWith("_per_s")) return [];
  const groups = new Set((view.model.data.summary.rankings ?? [])
    .filter((one) => one.phase === ranking.phase && one.role === role && one.setting === ranking.setting && one.part === ranking.part && one.threads === ranking.threads)
    .flatMap((one) => one.standings.map((standing) => standing.group)));
  const cases = view.model.cases.filter((one) => groups.has(one.index) && one.work.phase === ranking.phase && !one.load);
  const ops = opsApart(cases, role);
  return ops.slice(0, TAILS_MAX).map((op) => ({
    title: op == null ? "p99" : `${op} p99`,
    of: (engine: Engine) => { const one = cases.find((one) => one.engine.id === engine.id); return one ? tailOf(one, role, "p99", op) : null; },
  })).filter((tail) => cases.some((one) => tail.of(one.engine)?.value != null));
}

/** A value in few letters; what is a ratio has no unit. */
const figureOf = (ranking: Ranking, value: number): string => inUnit(value, ranking.unit) + (ranking.unit === "B/B" ? "×" : "");

/** `2=`, `3?`, `4`: shared; of too few trials; sure. */
const formatRank = (standing: Standing): string =>
  `${standing.rank ?? ""}${standing.tied ? "=" : standing.verdict === "spread_unknown" ? "?" : ""}`;

const between = (low: number | null, high: number | null, format: (value: number) => string): string =>
  low == null || high == null ? NONE : `${format(low)} to ${format(high)}`;

function cellsOf(ranking: Ranking, standing: Standing): string[] {
  return [
    standing.rank == null ? NONE : formatRank(standing),
    standing.value == null ? NONE : figureOf(ranking, standing.value),
    between(standing.low, standing.high, (value) => figureOf(ranking, value)),
    String(standing.n),
    standing.ratio_to_best == null || standing.rank == null ? NONE : `${ratio(standing.ratio_to_best)}×`,
    between(standing.ratio_to_best_low, standing.ratio_to_best_high, ratio),
    standing.lost ? lostWords(standing.lost) : NONE,
    standing.missing ?? "",
  ];
}

const lostOf = (row: Row): string => {
  const lost = row.standings.find((standing) => standing?.lost)?.lost;
  return lost ? lostWords(lost) : NONE;
};

interface Class {
  rankings: (Ranking | null)[];
  rows: Row[];
  /** Of its columns. */
  titles: string[];
  /** Which question they are in the order of. */
  by: number;
  tails: Tail[];
  tested: boolean;
}

function rowElement(row: Row, { rankings, rows: { length: rivals }, titles, by, tails, tested }: Class, theme: Theme): HTMLElement {
  const latencies = tails.map((tail) => {
    const metric = tail.of(row.engine), range = rangeOf(metric);
    return h("td", { "data-head": tail.title, class: metric?.value == null ? "missing tail" : "tail", ...(range ? { title: between(...range, duration) } : {}) }, metric?.value == null ? metric?.missing ?? NONE : duration(metric.value));
  });
  return h("tr", { "data-engine": row.engine.title },
    h("th", { scope: "row" }, legendMark(row.engine, theme), " ", row.engine.title),
    ...row.standings.flatMap((standing, at) => {
      const ranking = rankings[at];
      const cells = (element: HTMLElement) => [element, ...(at === by ? latencies : [])];
      const head = { "data-head": titles[at] ?? "" };
      if (!ranking || !standing) return cells(h("td", { ...head, class: "missing" }, NONE));
      if (standing.rank == null || standing.value == null) return cells(h("td", { ...head, class: "missing" }, standing.missing ?? NONE));
      return cells(h("td", { ...head, class: standing.rank === 1 && rivals > 1 ? "best" : "" }, ...cell(ranking, standing, rivals, colourOf(row.engine, theme))));
    }),
    tested ? h("td", { "data-head": "power loss" }, lostOf(row)) : null);
}

/** Its rank, its figure, how far behind it is, and that as a bar: the best has a whole one. */
function cell(ranking: Ranking, standing: Standing, rivals: number, colour: string): Child[] {
  const absolute = h("span", { class: "absolute" }, figureOf(ranking, standing.value ?? 0));
  if (rivals < 2) return [absolute, " ", h("span", { class: "faint" }, "alone in its class")];
  const behind = standing.ratio_to_best ?? null;
  const words = standing.verdict === "base" || behind == null ? "" : standing.verdict === "not_distinguishable" ? "~" : `${ratio(behind)}×`;
  const interval = between(standing.ratio_to_best_low, standing.ratio_to_best_high, ratio);
  return [
    h("span", { class: "rank" }, formatRank(standing)), " ", absolute, " ",
    h("span", { class: "behind", ...(interval === NONE ? {} : { title: `interval: ${interval}` }) }, words),
    h("span", { class: "share", "aria-hidden": "true" }, h("i", { style: `width:${behind == null ? 0 : Math.max(1, 100 / behind)}%;background:${colour}` })),
  ];
}
