// The scoreboard's cells, as a table and as a picture to save.

import type { Group, Relative, Metric } from "../data";
import type { Theme } from "../colour";
import { h, svg } from "../dom";
import { formatValue, NONE, formatRatio, formatSi } from "../format";
import { figureMargins, judgePairs, meanRatio, pairTrials, type Mark } from "../judge";
import { truncate, ENGINES_MAX } from "../layout";
import type { Engine } from "../model";
import { wrapText } from "../save";

export interface Row {
  name: string;
  metrics: Map<string, Metric | null>;
  /** The group of each engine's case. */
  groups: Map<string, Pick<Group, "engine" | "trials" | "within" | "void">>;
  /** The program's verdicts, for engines that have one against this base. */
  relatives?: Map<string, Relative>;
  /** Engines whose work the program does not compare with this base's. */
  uncompared?: Set<string>;
  /** Why these figures are not comparable; null: they are. */
  incomparable?: string | null;
}

/** The verdict on a difference; `unsure`: too few trials; `none`: nothing is compared. */
export type Worth = "better" | "worse" | "same" | "unsure" | "none";

/** One engine's figure in one row. */
export interface Cell {
  engine: Engine;
  /** `37x lower`, `~1.1x more`, `1.4x more?`, `not comparable`; empty: nothing is compared. */
  words: string;
  /** Why it is not comparable; null: it is. */
  reason: string | null;
  worth: Worth;
  absolute: string;
  /** The length of the bar, -1 to 1: to the right is better. */
  length: number;
  /** Why there is no figure; null: there is one. */
  missing: string | null;
}

export interface BoardRow {
  name: string;
  incomparable: string | null;
  cells: Cell[];
}

/** The longest bar, in doublings: longer ones would make all others invisible. */
const DOUBLINGS_MAX = 7;

/** Returns the length of a bar, right of the middle, from -1 to 1. */
export function barLength(value: number, base: number, direction: string, doublings: number): number {
  if (!(value > 0) || !(base > 0)) return 0;
  const factor = Math.log2(value / base) * (direction === "lower" ? -1 : 1);
  return Math.max(-1, Math.min(1, factor / doublings));
}

/** A ratio to the base with its certainty, or why there is none. */
export type Judged = { ratio: number; mark: Mark; reason: null } | { ratio: null; reason: string };

const unjudged = (reason: string): Judged => ({ ratio: null, reason });

/** Judges a ratio to the base as the program did, else by the pairs; null: there is no ratio. */
export function judgedRatio(row: Row, engine: Engine, base: Engine): Judged | null {
  const [engineMetric, baseMetric] = [row.metrics.get(engine.id), row.metrics.get(base.id)];
  const [group, baseGroup] = [row.groups.get(engine.id), row.groups.get(base.id)];
  if (!engineMetric?.value || !baseMetric?.value || !group || !baseGroup) return null;
  const relative = row.relatives?.get(engine.id);
  if (relative?.reason) return unjudged(relative.reason);
  if (relative) return { ratio: relative.ratio, mark: relativeMark(relative), reason: null };
  const voided = baseGroup.void ?? group.void;
  if (voided) return unjudged(`void: ${voided}`);
  if (row.uncompared?.has(engine.id)) return unjudged("kvdyno compares it with another engine, or with none");
  const short = [baseMetric, engineMetric].find(({ combine }) => combine === "merged_histograms");
  if (short) return unjudged(["not every trial has enough samples", ...(short.missing ? [short.missing] : [])].join(": "));
  const groupTrials = (metric: Metric, { trials }: typeof group) => ({ metric, numbers: trials.map(({ trial }) => trial) });
  const pairs = pairTrials(groupTrials(baseMetric, baseGroup), groupTrials(engineMetric, group));
  if (pairs.length === 0) return unjudged("a value of 0 has no ratio");
  const margins = figureMargins(engineMetric.name, group.within, [baseGroup.engine, group.engine]);
  return { ratio: meanRatio(pairs), mark: judgePairs(pairs, margins), reason: null };
}

/** Adds the mark of certainty to a ratio: `2.31`, `~1.02`, `1.4?`. */
const markRatio = (times: string, mark: Mark): string => (mark === "?" ? `${times}?` : mark + times);

function relativeMark({ verdict, decided, low }: Relative): Mark {
  if (verdict === "base" || verdict === "different") return "";
  if (decided) return "=";
  return low == null ? "?" : "~";
}

/** What stands in the place of a ratio that the program does not judge, as on the terminal. */
const NOT_COMPARABLE = "not comparable";

/** Formats a ratio with the program's verdict. */
export function formatRelative(relative: Relative | null): string {
  if (!relative) return NONE;
  return relative.reason ? NOT_COMPARABLE : markRatio(formatRatio(relative.ratio), relativeMark(relative));
}

/** Words for "higher" and "lower" by unit: of counts and of sizes. */
const WORDS: Record<string, [more: string, less: string]> = {
  "1/s": ["more", "fewer"], "1/op": ["more", "fewer"], "1/record": ["more", "fewer"], "": ["more", "fewer"],
  B: ["more", "less"], "B/op": ["more", "less"],
};

/** Returns `37x lower`: a factor of at least one, with its direction. */
export function describeFactor(value: number, base: number, unit: string): string {
  const factor = value >= base ? value / base : base / value;
  const times = factor < 1.995 ? factor.toFixed(2) : factor < 9.95 ? factor.toFixed(1) : factor < 999.5 ? factor.toFixed(0) : formatSi(factor);
  const [more, less] = WORDS[unit] ?? ["higher", "lower"];
  return `${times}x ${value >= base ? more : less}`;
}

export function boardRows(engines: Engine[], rows: Row[], base: Engine): BoardRow[] {
  const factors = rows.flatMap((row) => {
    const ratios = engines.flatMap((engine) => judgedRatio(row, engine, base)?.ratio ?? []);
    return row.incomparable ? [] : ratios.map((ratio) => Math.abs(Math.log2(ratio)));
  });
  const doublings = Math.min(DOUBLINGS_MAX, Math.max(1, ...factors));
  return rows.map((row) => ({ name: row.name, incomparable: row.incomparable ?? null, cells: engines.map((engine) => boardCell(row, engine, base, doublings)) }));
}

function boardCell(row: Row, engine: Engine, base: Engine, doublings: number): Cell {
  const metric = row.metrics.get(engine.id), baseMetric = row.metrics.get(base.id);
  const emptyCell = { engine, words: "", reason: null, worth: "none", absolute: "", length: 0, missing: null } as const;
  if (metric?.value == null) return { ...emptyCell, missing: metric?.missing ?? NONE };
  // The row's name says that the figure is per operation.
  const absolute = formatValue(metric.value, metric.unit).replace(/\/op$/, "") + (metric.unit === "B/B" ? "×" : "");
  // Engines of different durability are not compared, nor are costs of different mixes.
  const comparable = baseMetric?.value != null && baseMetric.value > 0 && metric.value > 0 && engine.durability === base.durability && !row.incomparable;
  const judged = comparable && engine.id !== base.id ? judgedRatio(row, engine, base) : null;
  if (!judged) return { ...emptyCell, absolute };
  if (judged.ratio == null) return { ...emptyCell, absolute, words: NOT_COMPARABLE, reason: judged.reason };
  const { mark } = judged, words = mark === "=" ? "equal" : describeFactor(judged.ratio, 1, metric.unit);
  const length = barLength(judged.ratio, 1, metric.direction, doublings);
  if (metric.direction === "neither") return { ...emptyCell, absolute, words };
  const worth: Worth = mark === "~" || mark === "=" ? "same" : mark === "?" ? "unsure" : length > 0 ? "better" : "worse";
  return { ...emptyCell, absolute, worth, length, words: words === "equal" ? words : markRatio(words, mark) };
}

/** Verdicts for screen readers. */
const ALOUD: Record<Worth, string> = {
  better: "better: ", worse: "worse: ", same: "undecided: ", unsure: "too few trials: ", none: "",
};

/** Marks of the side of a bar: to the right is better. */
const SIGNS: Record<Worth, string> = { better: "▶", worse: "◀", same: "", unsure: "", none: "" };

export function boardElement(engines: Engine[], rows: BoardRow[], base: Engine): HTMLElement {
  if (engines.length > ENGINES_MAX) return transposedBoard(engines, rows, base);
  const head = h("tr", {}, h("th", { scope: "col" }, h("span", { class: "hidden" }, "figure")), ...engines.map((engine) =>
    h("th", { scope: "col", class: engine.id === base.id ? "base" : "" }, engine.name, engine.id !== base.id && engines.length > 1 ? h("span", { class: "versus" }, ` vs. ${base.name}`) : null)));
  const body = rows.map((row) => h("tr", {},
    h("th", { scope: "row", ...(row.incomparable ? { title: row.incomparable } : {}) }, row.name, row.incomparable ? h("span", { class: "apart" }, " not comparable") : null),
    ...row.cells.map((cell) => cellElement(cell, cell.engine.id === base.id))));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scoreboard" },
    h("table", { class: engines.length > 4 ? "scoreboard many" : "scoreboard" }, h("thead", {}, head), h("tbody", {}, ...body)));
}

/** Creates the board of many engines: a row per engine, a column per figure. */
function transposedBoard(engines: Engine[], rows: BoardRow[], base: Engine): HTMLElement {
  const head = h("tr", {}, h("th", { scope: "col" }, `vs. ${base.name}`), ...rows.map((row) =>
    h("th", { scope: "col", ...(row.incomparable ? { title: row.incomparable } : {}) }, row.name, row.incomparable ? h("span", { class: "apart" }, " not comparable") : null)));
  const body = engines.map((engine, at) => h("tr", {}, h("th", { scope: "row" }, engine.name), ...rows.map((row) => {
    const cell = row.cells[at];
    const element = cell ? cellElement(cell, engine.id === base.id) : h("td");
    element.setAttribute("data-head", row.name);
    return element;
  })));
  return h("div", { class: "scroll stacked", tabindex: "0", role: "region", "aria-label": "Scoreboard" },
    h("table", { class: "lying" }, h("thead", {}, head), h("tbody", {}, ...body)));
}

function cellElement(cell: Cell, isBase: boolean): HTMLElement {
  const label = { "data-engine": cell.engine.name };
  if (cell.missing != null) return h("td", { ...label, class: "missing", title: cell.missing }, truncate(cell.missing, 24));
  const absolute = h("span", { class: "absolute" }, cell.absolute);
  if (isBase || cell.words === "") return h("td", { ...label, class: isBase ? "base" : "plain" }, absolute);
  const left = 50 + Math.min(0, cell.length) * 50;
  return h("td", { ...label, class: cell.worth, ...(cell.reason ? { title: cell.reason } : {}) },
    absolute,
    h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "bar", style: `left:${left}%;width:${Math.abs(cell.length) * 50}%` })),
    h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[cell.worth]),
    h("span", { class: "hidden" }, cell.words === "equal" ? "" : ALOUD[cell.worth]),
    h("span", { class: "words" }, cell.words));
}

const NAME = 220, COLUMN = 270, FIRST = 110, ROW = 28, HEAD = 30;

const TRANSPOSED = { name: 168, column: 118, row: 38, head: 44 };

/** Draws the board of many engines with a row per engine, as on the page: columns of many engines are too wide. */
function transposedPicture(engines: Engine[], rows: BoardRow[], theme: Theme): SVGElement {
  const { name, column, row, head } = TRANSPOSED;
  const width = name + rows.length * column, height = head + engines.length * row + 8;
  const text = (x: number, y: number, words: string, attributes: Record<string, string> = {}) =>
    svg("text", { x: String(x), y: String(y), fill: theme.text, "font-size": "12", ...attributes }, words);
  const heads = rows.flatMap(({ name: words, incomparable }, at) => wrapText(words + (incomparable ? " (not comparable)" : ""), 18).slice(0, 3)
    .map((line, order) => text(name + at * column, 12 + order * 13, line, { "font-weight": "600", "font-size": "11" })));
  const lines = engines.flatMap((engine, at) => {
    const y = head + at * row;
    const line = svg("rect", { x: "8", y: String(y), width: String(width - 16), height: "1", fill: theme.line });
    return [line, text(8, y + 16, truncate(engine.name, 24)), ...rows.flatMap(({ cells }, order) => {
      const cell = cells[at], x = name + order * column;
      if (!cell) return [];
      if (cell.missing != null) return [text(x, y + 16, truncate(cell.missing, 17), { fill: theme.faint })];
      const sure = cell.worth === "better" || cell.worth === "worse";
      return [text(x, y + 16, cell.absolute), text(x, y + 30, `${SIGNS[cell.worth]} ${cell.words}`.trim(), { "font-size": "11", fill: sure ? theme.text : theme.faint, "font-weight": sure ? "600" : "400" })];
    })];
  });
  return svg("svg", { width: String(width), height: String(height) }, ...heads, ...lines);
}

export function boardPicture(engines: Engine[], rows: BoardRow[], base: Engine, theme: Theme): SVGElement {
  if (engines.length > ENGINES_MAX) return transposedPicture(engines, rows, theme);
  const columns: number[] = [];
  const width = engines.reduce((left, engine) => (columns.push(left), left + (engine.id === base.id ? FIRST : COLUMN)), NAME);
  const height = HEAD + rows.length * ROW + 8;
  const text = (x: number, y: number, words: string, attributes: Record<string, string> = {}) =>
    svg("text", { x: String(x), y: String(y), fill: theme.text, "font-size": "13", ...attributes }, words);
  const rect = (x: number, y: number, width: number, height: number, fill: string) =>
    svg("rect", { x: String(x), y: String(y), width: String(width), height: String(height), fill });
  const lengthBar = (x: number, y: number, width: number, attributes: { fill: string; stroke: string }) =>
    svg("rect", { x: String(x), y: String(y), width: String(width), height: "8", ...attributes });
  const colours: Record<Worth, string> = { better: theme.text, worse: theme.text, same: theme.faint, unsure: theme.faint, none: theme.text };
  // Bars of worse figures are hollow.
  const barColours = (cell: Cell) => (cell.worth === "worse" ? { fill: theme.ground, stroke: theme.text } : { fill: colours[cell.worth], stroke: "none" });
  const cells = rows.flatMap((row, at) => {
    const y = HEAD + at * ROW, line = y + 19;
    return [rect(8, y, width - 16, 1, theme.line), text(8, line, row.name + (row.incomparable ? " (not comparable)" : "")), ...row.cells.flatMap((cell, column) => {
      const x = columns[column] ?? 0;
      if (cell.missing != null) return [text(x, line, truncate(cell.missing, cell.engine.id === base.id ? 13 : 24), { fill: theme.faint })];
      const absolute = text(x + 62, line, cell.absolute, { "text-anchor": "end" });
      if (cell.engine.id === base.id || cell.words === "") return [absolute];
      const room = 70, left = x + 74, middle = left + room / 2, length = (cell.length * room) / 2;
      return [
        absolute, rect(left, y + 11, room, 8, theme.grid), lengthBar(Math.min(middle, middle + length), y + 11, Math.abs(length), barColours(cell)), rect(middle, y + 9, 1, 12, theme.faint),
        text(left + room + 8, line, `${SIGNS[cell.worth]} ${cell.words}`.trim(), { fill: colours[cell.worth], "font-weight": cell.worth === "better" || cell.worth === "worse" ? "600" : "400" }),
      ];
    })];
  });
  const names = engines.map((engine, at) => text((columns[at] ?? 0) + (engine.id === base.id ? 0 : 18), 20, truncate(engine.name, 24), { "font-weight": "600" }));
  return svg("svg", { width: String(width), height: String(height) }, ...names, ...cells);
}
