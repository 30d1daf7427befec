// A flame graph: callers above what they call, as wide as their share of the CPU time. Widths are shares, so that it
// fits whatever room it has.

import type { Theme } from "./colour";
import { h, svg } from "./dom";
import { callersOf, listed, matched, nsPerOp, shareOf, type Call, type Flame, type Origin, type Owner } from "./flames";
import { duration, NONE } from "./format";
import { FONT } from "./layout";

const ROW = 19, SAVED_WIDTH = 1100, LETTER = 6.4;
/** What is narrower has no room for a letter, and what is much narrower is not drawn. */
const LABELLED = 24 / SAVED_WIDTH, DRAWN = 0.001;

export const ORIGINS: Record<Origin, string> = { engine: "engine", load_generator: "load generator", system: "libraries of the system", kernel: "kernel" };

/** What threads of one kind are called. */
export const threadsWords = ({ owner, threads }: { owner: Owner; threads: string }): string =>
  (owner === "engine" ? `engine's own threads: ${threads}` : owner === "server" ? `server's threads: ${threads}` : threads);

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** In points of a hundred, with its sign. */
const points = (move: number): string => `${move > 0 ? "+" : "−"}${(100 * Math.abs(move)).toFixed(1)}`;

interface Colour {
  fill: string;
  /** How much of it. */
  opacity: number;
}

const originColour = (origin: Origin | null, theme: Theme): string =>
  ({ engine: theme.parts[5], load_generator: theme.parts[0], system: theme.parts[3], kernel: theme.parts[2] })[origin ?? "system"] ?? theme.grid;

/** Grown and shrunken shares; a tenth of all is the full colour. */
const FULL_MOVE = 0.1;
export const moveColours = (theme: Theme): [string, string] => [theme.engines[1] ?? theme.text, theme.engines[0] ?? theme.text];

function colourOf(call: Call, samples: number, theme: Theme): Colour {
  if (call.caller == null) return { fill: theme.grid, opacity: 1 };
  if (call.other == null) return { fill: originColour(call.origin, theme), opacity: 1 };
  const move = shareOf(call, samples) - call.other, [grown, shrunken] = moveColours(theme);
  return { fill: move > 0 ? grown : shrunken, opacity: Math.min(0.75, (Math.abs(move) / FULL_MOVE) * 0.75) };
}

/** All that is known of a call, in a line. */
export function wordsOf(call: Call, flame: Flame): string {
  const share = shareOf(call, flame.samples), ns = nsPerOp(flame, call.total);
  const own = call.caller ? `, itself ${percent(call.own / Math.max(flame.samples, 1))}` : "";
  const moved = call.other == null || !call.caller ? "" : `; base ${percent(call.other)}, ${points(share - call.other)} points`;
  const where = call.origin ? ` · ${call.module || "unknown file"}, ${ORIGINS[call.origin]}` : "";
  return `${call.name}: ${percent(share)}${own}, ${ns == null ? NONE : duration(ns)} per operation${moved}${where}`;
}

export function legend(theme: Theme, compared: boolean): HTMLElement {
  const mark = (fill: string, text: string) => h("span", { class: "key" }, h("span", { class: "swatch", style: `background:${fill}` }), text);
  const [grown, shrunken] = moveColours(theme);
  const marks = compared ? [mark(grown, "larger share than base"), mark(shrunken, "smaller share")]
    : Object.entries(ORIGINS).map(([origin, text]) => mark(originColour(origin as Origin, theme), text));
  return h("p", { class: "keys" }, ...marks);
}

/** With choices by mouse and keyboard. */
export function flameGraph(root: Call, flame: Flame, theme: Theme, label: string): HTMLElement {
  let top = root, wanted = "";
  const line = h("p", { class: "note", role: "status" }), rows = h("div", { class: "rows", role: "tree", "aria-label": label });
  const found = h("span", { class: "note" });
  const search = h("input", { type: "search", placeholder: "function", "aria-label": "Search functions", input: (event) => {
    wanted = (event.target as HTMLInputElement).value;
    paint();
  } });
  const back = h("button", { type: "button", click: () => zoom(root) }, "Whole");
  const elements = new Map<Call, HTMLElement>();
  const tell = (call: Call): void => { line.textContent = wordsOf(call, flame); };
  const zoom = (call: Call): void => {
    top = call;
    paint();
    elements.get(call)?.focus();
  };
  const step = (call: Call, to: Call | null | undefined): void => {
    const element = to && elements.get(to);
    if (!element) return;
    elements.get(call)?.setAttribute("tabindex", "-1");
    element.setAttribute("tabindex", "0");
    element.focus();
  };
  const key = (call: Call, event: KeyboardEvent): void => {
    const beside = call.caller?.callees.filter((one) => elements.has(one)) ?? [], at = beside.indexOf(call);
    const widest = [...call.callees].sort((a, b) => b.total - a.total)[0];
    const moves: Record<string, () => void> = {
      ArrowUp: () => step(call, call.caller), ArrowDown: () => step(call, widest),
      ArrowLeft: () => step(call, beside[at - 1]), ArrowRight: () => step(call, beside[at + 1]),
      Enter: () => zoom(call), " ": () => zoom(call), Escape: () => zoom(root),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  };
  const drawn = (call: Call, hits: Set<Call>): HTMLElement => {
    const whole = shareOf(top, flame.samples), isAbove = callersOf(top).includes(call);
    const left = isAbove ? 0 : (call.start - top.start) / whole, width = isAbove ? 1 : shareOf(call, flame.samples) / whole;
    const { fill, opacity } = colourOf(call, flame.samples, theme);
    const tint = `color-mix(in srgb, ${fill} ${Math.round(100 * opacity)}%, ${theme.ground})`;
    const element = h("div", {
      class: `call${hits.has(call) ? " hit" : ""}${isAbove ? " above" : ""}`, role: "treeitem", tabindex: call === top ? "0" : "-1",
      "aria-level": String(call.depth + 1), "aria-label": wordsOf(call, flame),
      style: `left:${100 * left}%;width:${100 * width}%;top:${call.depth * ROW}px;background:${tint}`,
      click: () => zoom(call), mouseenter: () => tell(call), focus: () => tell(call),
      keydown: (event) => key(call, event as KeyboardEvent),
    }, width > LABELLED / 2 ? call.name : "");
    elements.set(call, element);
    return element;
  };
  const paint = (): void => {
    const hits = matched(root, wanted), least = DRAWN * shareOf(top, flame.samples);
    const shown = [...callersOf(top), ...listed(top).filter((call) => shareOf(call, flame.samples) >= least)];
    elements.clear();
    rows.replaceChildren(...shown.map((call) => drawn(call, hits.calls)));
    rows.style.height = `${(Math.max(...shown.map((call) => call.depth)) + 1) * ROW}px`;
    rows.classList.toggle("searched", wanted !== "");
    found.textContent = wanted === "" ? "" : hits.calls.size === 0 ? "no such function" : `${percent(hits.share)} in ${hits.calls.size} calls`;
    back.hidden = top === root;
    tell(top);
  };
  paint();
  return h("div", { class: "flame" }, legend(theme, root.other != null), h("div", { class: "controls" }, search, back, found), rows, line);
}

/** All of it, as a picture. */
export function flamePicture(root: Call, flame: Flame, theme: Theme): SVGElement {
  const shown = listed(root).filter((call) => shareOf(call, flame.samples) >= DRAWN);
  const height = (Math.max(...shown.map((call) => call.depth)) + 1) * ROW;
  return svg("svg", { width: String(SAVED_WIDTH), height: String(height), viewBox: `0 0 ${SAVED_WIDTH} ${height}` }, ...shown.map((call) => {
    const { fill, opacity } = colourOf(call, flame.samples, theme);
    const x = call.start * SAVED_WIDTH, width = shareOf(call, flame.samples) * SAVED_WIDTH, y = call.depth * ROW;
    const letters = Math.floor((width - 6) / LETTER);
    return svg("g", {}, svg("title", {}, wordsOf(call, flame)),
      svg("rect", { x: x.toFixed(2), y: String(y), width: Math.max(width - 0.5, 0.5).toFixed(2), height: String(ROW - 1), fill, "fill-opacity": String(opacity), stroke: theme.line, "stroke-width": call.other == null ? "0" : "0.5" }),
      letters < 3 ? null : svg("text", { x: (x + 3).toFixed(2), y: String(y + 13), fill: theme.text, "font-size": "11", "font-family": FONT },
        call.name.length > letters ? `${call.name.slice(0, letters - 1)}…` : call.name));
  }));
}
