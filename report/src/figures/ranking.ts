// Figure: the ranking of engines by question. A row per engine shows its rank, its ratio to the best of its
// durability class, or why it has no figure. Latencies are next to the main question.

import type { Metric } from "../data";
import type { Question, Ranking, Standing } from "../ranked";
import { engineColour, type Theme } from "../colour";
import { h, type Child } from "../dom";
import { createControl, nonEmptyTexts, trialsNote, type Drawing, type Figure } from "../drawing";
import { legendMark } from "../filters";
import { formatDuration, formatValue, NONE, formatRatio } from "../format";
import { mainQuestion, latencyOps, metricRange, tailMetric, unique, type Engine } from "../model";
import { formatLosses } from "../lost";
import { QUESTIONS } from "../questions";
import { chosenEngines, chosenWorks, rankedQuestions, type View } from "../view";

export const ranking: Figure = { name: "ranking", draw };

/** Questions that only a mix answers: the p99 of one of its operations. */
const LATENCIES: Question[] = ["read_latency", "write_latency"];

/** The least number of engines in a ranking: two are compared in the scoreboard. */
const ENGINES_MIN = 3;

/** An engine's standings by question. */
interface Row {
  engine: Engine;
  standings: (Standing | null)[];
}

/** A column: a question, of one operation of a mix or of all (null). */
interface Column {
  question: Question;
  op: string | null;
}

const isColumn = (ranking: Ranking, { question, op }: Column): boolean => ranking.question === question && (ranking.op ?? null) === op;

/** Returns the columns of these rankings: the main question first, then latencies, the load last. */
export function rankingColumns(questions: Question[], rankings: Ranking[], main: Question | null): Column[] {
  const questionWeight = (question: Question) => (question === main ? 0 : LATENCIES.includes(question) ? 1 : question === "loading" ? 3 : 2);
  const questionOps = (question: Question) => unique(rankings.filter((one) => one.question === question).map((one) => one.op ?? null));
  return [...questions].sort((a, b) => questionWeight(a) - questionWeight(b))
    .flatMap((question) => questionOps(question).map((op) => ({ question, op })));
}

/** Returns the head of a column: `reads`, `update p99`. */
export const columnTitle = ({ question, op }: Column): string =>
  (op == null ? QUESTIONS[question].short : `${op} ${question === "tail" ? "p99.9" : "p99"}`);

const columnHelp = ({ question, op }: Column): string => QUESTIONS[question].long + (op == null ? "" : `: ${op}`);

function draw(view: View): Drawing | null {
  const { choice, model } = view;
  const all = model.data.summary.rankings ?? [];
  const engines = chosenEngines(model, choice);
  if (all.length === 0 || chosenEngines(model, { ...choice, engines: [] }).length < ENGINES_MIN) return null;
  const partRankings = all.filter((one) => choice.parts.length === 0 || one.part == null || choice.parts.includes(one.part));
  const settings = unique(partRankings.map((one) => one.setting));
  const setting = createControl(view, "ranking.setting", "setting", settings.map((words) => ({ value: words, label: words })), settings[0] ?? "");
  // A filter by part may hide a question's main ranking: then the next one answers it.
  const settingRankings = partRankings.filter((one) => one.setting === setting.value);
  const main = mainQuestion(model.data, chosenWorks(model, choice));
  const allColumns = rankingColumns(rankedQuestions(model), settingRankings, main);
  const chosen = allColumns.filter(({ question }) => choice.questions.length === 0 || choice.questions.includes(question));
  const columns = chosen.length > 0 ? chosen : allColumns;
  const columnKeys = columns.map(({ question, op }) => (op == null ? question : `${question} ${op}`));
  const order = createControl(view, "ranking.order", "in the order of",
    columns.map((column, at) => ({ value: columnKeys[at] ?? "", label: columnTitle(column) })), columnKeys[0] ?? "");
  const by = columnKeys.indexOf(order.value);
  const classes = unique(settingRankings.map((one) => one.durability)).map((durability) => {
    const rankings = columns.map((column) => settingRankings.find((one) => isColumn(one, column) && one.durability === durability) ?? null);
    return { durability, rankings, rows: rankingRows(view, engines, rankings, by) };
  }).filter((one) => one.rows.length > 0);
  if (classes.length === 0) return null;
  const first = classes[0]!.rankings;
  // Losses have a column if they were tested.
  const tested = classes.some((one) => one.rows.some((row) => rowLosses(row) !== NONE));
  // Latencies of a mix are questions of their own.
  const tails = columns.some(({ question }) => LATENCIES.includes(question)) ? [] : latencyColumns(view, first[by] ?? null);
  const titles = columns.map(columnTitle);
  const width = columns.length + tails.length + (tested ? 2 : 1);
  return {
    title: "Ranking by question",
    whole: true,
    note: `Rank, figure, and how many times behind the best of the same durability class; = tied, ? too few trials. ${trialsNote(view)}.`,
    how: nonEmptyTexts("Tied (=, ~): the interval of the ratio, of 99 % over the pairs of trials, does not leave 1 out. With fewer than four trials (?) nothing is.",
      `Measured by: ${first.flatMap((one, at) => (one ? [`${titles[at]}: ${rankingSource(one)}`] : [])).join("; ")}.`),
    controls: [setting, order],
    element: (theme) => h("div", { class: "scroll stacked", tabindex: "0", role: "region", "aria-label": "Ranking" },
      h("table", { class: "ranking" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "engine"), ...columns.flatMap((column, at) => [
          h("th", { scope: "col", title: columnHelp(column), ...(at === by ? { "aria-sort": "ascending" } : {}) }, columnTitle(column)),
          ...(at === by ? tails.map(({ title }) => h("th", { scope: "col", class: "tail" }, title)) : [])]),
          tested ? h("th", { scope: "col" }, "power loss") : null)),
        ...classes.map((one) => h("tbody", { "data-class": one.durability },
          classes.length > 1 ? h("tr", { class: "class" }, h("th", { colspan: String(width), scope: "rowgroup" }, `durability ${one.durability}`)) : null,
          ...one.rows.map((row) => rowElement(row, { ...one, titles, by, tails, tested }, theme)))))),
    table: () => ({
      head: ["engine", "question", "measured by", "part", "durability", "rank", "figure", "range", "n", "times behind", "interval", "power loss", "why there is none"],
      words: 5,
      rows: classes.flatMap((one) => one.rows.flatMap((row) => row.standings.flatMap((standing, at) => {
        const ranking = one.rankings[at], column = columns[at];
        return ranking && standing && column ? [[row.engine.title, columnHelp(column), rankingSource(ranking), ranking.part ?? NONE, ranking.durability, ...standingCells(ranking, standing)]] : [];
      }))),
    }),
  };
}

/** Returns `overwrite: writers, 4 threads`: the source of a ranking. */
function rankingSource(one: Ranking): string {
  const role = one.role && one.role !== one.phase ? [`${one.phase}: ${one.role}`] : [one.phase];
  const threads = one.threads == null ? [] : [`${one.threads} thread${one.threads === 1 ? "" : "s"}`];
  return [...role, ...(one.part ? [`part ${one.part}`] : []), ...threads].join(", ");
}

function rankingRows(view: View, engines: Engine[], rankings: (Ranking | null)[], by: number): Row[] {
  const isEngineStanding = (standing: Standing, ranking: Ranking, engine: Engine): boolean => {
    const one = standing.group == null ? null : view.model.cases.find((one) => one.index === standing.group);
    return one ? one.engine.id === engine.id : standing.engine === engine.title && ranking.durability === engine.durability;
  };
  const rows = engines.map((engine) => ({
    engine,
    standings: rankings.map((ranking) => ranking?.standings.find((standing) => isEngineStanding(standing, ranking, engine)) ?? null),
  })).filter((row) => row.standings.some((standing) => standing));
  const rowPlace = (row: Row) => {
    const engine = row.engine, ranking = rankings[by];
    const index = ranking?.standings.findIndex((standing) => isEngineStanding(standing, ranking, engine)) ?? -1;
    return index < 0 ? rows.length : index;
  };
  return rows.sort((a, b) => rowPlace(a) - rowPlace(b));
}

interface Tail {
  title: string;
  read: (engine: Engine) => Metric | null;
}

/** The most latency columns, one per operation; the tables have more. */
const TAILS_MAX = 3;

function latencyColumns(view: View, ranking: Ranking | null): Tail[] {
  const { role } = ranking ?? {};
  if (!ranking || role == null || !ranking.figure.endsWith("_per_s")) return [];
  const groups = new Set((view.model.data.summary.rankings ?? [])
    .filter((one) => one.phase === ranking.phase && one.role === role && one.setting === ranking.setting && one.part === ranking.part && one.threads === ranking.threads)
    .flatMap((one) => one.standings.map((standing) => standing.group)));
  const cases = view.model.cases.filter((one) => groups.has(one.index) && one.work.phase === ranking.phase && !one.load && one.group.void == null);
  const ops = latencyOps(cases, role);
  return ops.slice(0, TAILS_MAX).map((op) => ({
    title: op == null ? "p99" : `${op} p99`,
    read: (engine: Engine) => { const one = cases.find((one) => one.engine.id === engine.id); return one ? tailMetric(one, role, "p99", op) : null; },
  })).filter((tail) => cases.some((one) => tail.read(one.engine)?.value != null));
}

/** Formats a value of a ranking; ratios end in `×`. */
const formatFigure = (ranking: Ranking, value: number): string => formatValue(value, ranking.unit) + (ranking.unit === "B/B" ? "×" : "");

/** Returns the rank: `2=` if tied, `3?` with too few trials, else `4`. */
const formatRank = (standing: Standing): string =>
  `${standing.rank ?? ""}${standing.tied ? "=" : standing.verdict === "spread_unknown" ? "?" : ""}`;

/** Returns how many times behind the best: `1.31×`, `equal`, `~`, and `1.31×?` with too few trials. */
export function formatBehind({ verdict, decided, ratio_to_best: behind, ratio_to_best_low: low }: Standing): string {
  if (verdict === "base" || behind == null) return "";
  if (verdict === "not_distinguishable" && decided) return "equal";
  if (verdict === "not_distinguishable" && low != null) return "~";
  return `${formatRatio(behind)}×${verdict === "different" ? "" : "?"}`;
}

const formatRange = (low: number | null, high: number | null, format: (value: number) => string): string =>
  low == null || high == null ? NONE : `${format(low)} to ${format(high)}`;

function standingCells(ranking: Ranking, standing: Standing): string[] {
  return [
    standing.rank == null ? NONE : formatRank(standing),
    standing.value == null ? NONE : formatFigure(ranking, standing.value),
    formatRange(standing.low, standing.high, (value) => formatFigure(ranking, value)),
    String(standing.n),
    standing.ratio_to_best == null || standing.rank == null ? NONE : `${formatRatio(standing.ratio_to_best)}×`,
    formatRange(standing.ratio_to_best_low, standing.ratio_to_best_high, formatRatio),
    standing.lost ? formatLosses(standing.lost) : NONE,
    standing.missing ?? "",
  ];
}

const rowLosses = (row: Row): string => {
  const lost = row.standings.find((standing) => standing?.lost)?.lost;
  return lost ? formatLosses(lost) : NONE;
};

interface Class {
  rankings: (Ranking | null)[];
  rows: Row[];
  /** The titles of the columns. */
  titles: string[];
  /** The index of the question that determines the order. */
  by: number;
  tails: Tail[];
  tested: boolean;
}

function rowElement(row: Row, { rankings, rows: { length: rivals }, titles, by, tails, tested }: Class, theme: Theme): HTMLElement {
  const latencies = tails.map((tail) => {
    const metric = tail.read(row.engine), range = metricRange(metric);
    return h("td", { "data-head": tail.title, class: metric?.value == null ? "missing tail" : "tail", ...(range ? { title: formatRange(...range, formatDuration) } : {}) }, metric?.value == null ? metric?.missing ?? NONE : formatDuration(metric.value));
  });
  return h("tr", { "data-engine": row.engine.title },
    h("th", { scope: "row" }, legendMark(row.engine, theme), " ", row.engine.title),
    ...row.standings.flatMap((standing, at) => {
      const ranking = rankings[at];
      const addLatencies = (element: HTMLElement) => [element, ...(at === by ? latencies : [])];
      const head = { "data-head": titles[at] ?? "" };
      if (!ranking || !standing) return addLatencies(h("td", { ...head, class: "missing" }, NONE));
      if (standing.rank == null || standing.value == null) return addLatencies(h("td", { ...head, class: "missing" }, standing.missing ?? NONE));
      return addLatencies(h("td", { ...head, class: standing.rank === 1 && rivals > 1 ? "best" : "" }, ...standingContent(ranking, standing, rivals, engineColour(row.engine, theme))));
    }),
    tested ? h("td", { "data-head": "power loss" }, rowLosses(row)) : null);
}

/** Creates the content of a cell: rank, figure, ratio to the best, and a bar that is full for the best. */
function standingContent(ranking: Ranking, standing: Standing, rivals: number, colour: string): Child[] {
  const absolute = h("span", { class: "absolute" }, formatFigure(ranking, standing.value ?? 0));
  if (rivals < 2) return [absolute, " ", h("span", { class: "faint" }, "alone in its class")];
  const behind = standing.ratio_to_best ?? null;
  const interval = formatRange(standing.ratio_to_best_low, standing.ratio_to_best_high, formatRatio);
  return [
    h("span", { class: "rank" }, formatRank(standing)), " ", absolute, " ",
    h("span", { class: "behind", ...(interval === NONE ? {} : { title: `interval: ${interval}` }) }, formatBehind(standing)),
    h("span", { class: "share", "aria-hidden": "true" }, h("i", { style: `width:${behind == null ? 0 : Math.max(1, 100 / behind)}%;background:${colour}` })),
  ];
}
