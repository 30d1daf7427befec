// The scoreboard's cells, as a table and as a picture to save.

import type { Beside, Metric } from "../data";
import { colourOf, type Theme } from "../colour";
import { h, svg } from "../dom";
import { inUnit, NONE, ratio } from "../format";
import { cut } from "../layout";
import { rangeOf, type Engine } from "../model";

export interface Row {
  name: string;
  metrics: Map<string, Metric | null>;
}

/** One engine's figure in one row. */
export interface Cell {
  engine: Engine;
  /** `2.31`, `~1.02`, `1.4?`; empty: nothing to compare with. */
  ratio: string;
  absolute: string;
  /** -1 to 1: to the right is better. */
  length: number;
  sure: boolean;
  /** Why there is no figure. */
  missing: string | null;
}

export interface BoardRow {
  name: string;
  cells: Cell[];
}

/** Longer bars than seven doublings would make all others invisible. */
const DOUBLINGS_MAX = 7;

/** How far right of the middle a bar goes: -1 to 1. */
export function bar(value: number, base: number, direction: string, most: number): number {
  if (!(value > 0) || !(base > 0)) return 0;
  const factor = Math.log2(value / base) * (direction === "lower" ? -1 : 1);
  return Math.max(-1, Math.min(1, factor / most));
}

/** Below so many trials equal engines look different too often. */
const TRIALS_MIN = 4;

/** Whether two figures cannot be told apart, as the program decides it. */
export function sure(own: Metric, base: Metric): "" | "~" | "?" {
  const a = rangeOf(own), b = rangeOf(base);
  if (!a || !b) return "?";
  if (a[0] <= b[1] && b[0] <= a[1]) return "~";
  return Math.min(own.n, base.n) < TRIALS_MIN ? "?" : "";
}

/** `2.31`, `~1.02`, `1.4?`: how sure a ratio is. */
const marked = (times: string, mark: "" | "~" | "?"): string =>
  mark === "?" ? `${times}?` : mark + times;

const MARKS = { base: "", different: "", not_distinguishable: "~", spread_unknown: "?" } as const;

/** A ratio with the program's own verdict. */
export const besideBase = (beside: Beside | null): string =>
  beside ? marked(ratio(beside.ratio), MARKS[beside.verdict]) : NONE;

export function cellsOf(engines: Engine[], rows: Row[], base: Engine): BoardRow[] {
  const factors = rows.flatMap((row) => {
    const of = row.metrics.get(base.id)?.value;
    return [...row.metrics.values()].flatMap((metric) => (metric?.value && of ? [Math.abs(Math.log2(metric.value / of))] : []));
  });
  const most = Math.min(DOUBLINGS_MAX, Math.max(1, ...factors));
  return rows.map((row) => ({ name: row.name + way(row), cells: engines.map((engine) => cellOf(row, engine, base, most)) }));
}

function way(row: Row): string {
  const direction = [...row.metrics.values()].find((metric) => metric)?.direction;
  return direction === "higher" ? " ↑" : direction === "lower" ? " ↓" : "";
}

function cellOf(row: Row, engine: Engine, base: Engine, most: number): Cell {
  const metric = row.metrics.get(engine.id), of = row.metrics.get(base.id);
  if (metric?.value == null) {
    return { engine, ratio: "", absolute: "", length: 0, sure: false, missing: metric?.missing ?? NONE };
  }
  // The row says what it is per.
  const absolute = inUnit(metric.value, metric.unit).replace(/\/op$/, "");
  // Writes that promise different things are not compared.
  const comparable = of?.value != null && of.value > 0 && engine.durability === base.durability;
  if (!comparable || of.value == null) return { engine, ratio: "", absolute, length: 0, sure: false, missing: null };
  const mark = engine.id === base.id ? "" : sure(metric, of);
  const times = ratio(metric.value / of.value);
  return {
    engine, absolute, missing: null, sure: mark === "",
    ratio: marked(times, mark),
    length: bar(metric.value, of.value, metric.direction, most),
  };
}

export function boardElement(engines: Engine[], rows: BoardRow[], theme: Theme): HTMLElement {
  const head = h("tr", {}, h("th", { scope: "col" }, ""), ...engines.map((engine) => h("th", { scope: "col" }, engine.name)));
  const body = rows.map((row) => h("tr", {}, h("th", { scope: "row" }, row.name), ...row.cells.map((cell) => cellElement(cell, theme))));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scoreboard" },
    h("table", { class: engines.length > 5 ? "scoreboard many" : "scoreboard" }, h("thead", {}, head), h("tbody", {}, ...body)));
}

function cellElement(cell: Cell, theme: Theme): HTMLElement {
  if (cell.missing != null) return h("td", { class: "missing", title: cell.missing }, cut(cell.missing, 18));
  const left = 50 + Math.min(0, cell.length) * 50;
  const style = `left:${left}%;width:${Math.abs(cell.length) * 50}%;background:${colourOf(cell.engine, theme)};opacity:${cell.sure ? 1 : 0.45}`;
  return h("td", {},
    h("span", { class: "ratio" }, cell.ratio), h("span", { class: "absolute" }, cell.absolute),
    h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "bar", style })));
}

const NAME = 190, COLUMN = 150, ROW = 34, HEAD = 30;

export function boardPicture(engines: Engine[], rows: BoardRow[], theme: Theme): SVGElement {
  const width = NAME + engines.length * COLUMN, height = HEAD + rows.length * ROW + 8;
  const text = (x: number, y: number, words: string, more: Record<string, string> = {}) =>
    svg("text", { x: String(x), y: String(y), fill: theme.text, "font-size": "13", ...more }, words);
  const rule = (y: number) => svg("rect", { x: "8", y: String(y), width: String(width - 16), height: "1", fill: theme.line });
  const cells = rows.flatMap((row, at) => {
    const y = HEAD + at * ROW;
    return [rule(y), text(8, y + 19, row.name), ...row.cells.flatMap((cell, column) => {
      const x = NAME + column * COLUMN, room = COLUMN - 22, middle = x + room / 2;
      if (cell.missing != null) return [text(x, y + 19, cut(cell.missing, 18), { fill: theme.faint })];
      const length = (cell.length * room) / 2;
      return [
        text(x, y + 17, cell.ratio, { "font-weight": "600" }),
        text(x + room, y + 17, cell.absolute, { fill: theme.faint, "text-anchor": "end" }),
        svg("rect", { x: String(x), y: String(y + 23), width: String(room), height: "5", fill: theme.grid }),
        svg("rect", { x: String(Math.min(middle, middle + length)), y: String(y + 23), width: String(Math.abs(length)), height: "5", fill: colourOf(cell.engine, theme), opacity: cell.sure ? "1" : "0.45" }),
        svg("rect", { x: String(middle), y: String(y + 23), width: "1", height: "5", fill: theme.faint }),
      ];
    })];
  });
  const names = engines.map((engine, at) => text(NAME + at * COLUMN, 20, cut(engine.name, 20), { "font-weight": "600" }));
  return svg("svg", { width: String(width), height: String(height) }, ...names, ...cells);
}
