// A flame graph: callers above their callees, as wide as their share of the CPU time. Widths are shares, so that the
// graph fits any width.

import type { Theme } from "./colour";
import { h, svg } from "./dom";
import { listCallers, listCalls, findCalls, nsPerOp, callShare, type Call, type Flame, type Origin, type Owner } from "./flames";
import { formatDuration, NONE } from "./format";
import { FONT } from "./layout";

const ROW = 19, SAVED_WIDTH = 1100, LETTER = 6.4;
/** The least share of a call with a label, and the least share of a drawn call. */
const LABELLED = 24 / SAVED_WIDTH, DRAWN = 0.001;

export const ORIGINS: Record<Origin, string> = { engine: "engine", load_generator: "load generator", system: "libraries of the system", kernel: "kernel" };

/** Returns the label of threads of one kind. */
export const threadKindLabel = ({ owner, threads }: { owner: Owner; threads: string }): string =>
  (owner === "engine" ? `engine's own threads: ${threads}` : owner === "server" ? `server's threads: ${threads}` : threads);

const formatPercent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Formats a difference of shares in percentage points, with its sign. */
const formatPoints = (move: number): string => `${move > 0 ? "+" : "−"}${(100 * Math.abs(move)).toFixed(1)}`;

interface Colour {
  fill: string;
  /** The opacity of the fill, from 0 to 1. */
  opacity: number;
}

const originColour = (origin: Origin | null, theme: Theme): string =>
  ({ engine: theme.parts[5], load_generator: theme.parts[0], system: theme.parts[3], kernel: theme.parts[2] })[origin ?? "system"] ?? theme.grid;

/** The change of a share that has the full colour. */
const FULL_MOVE = 0.1;
export const moveColours = (theme: Theme): [string, string] => [theme.engines[1] ?? theme.text, theme.engines[0] ?? theme.text];

function callColour(call: Call, samples: number, theme: Theme): Colour {
  if (call.caller == null) return { fill: theme.grid, opacity: 1 };
  if (call.other == null) return { fill: originColour(call.origin, theme), opacity: 1 };
  const move = callShare(call, samples) - call.other, [grown, shrunken] = moveColours(theme);
  return { fill: move > 0 ? grown : shrunken, opacity: Math.min(0.75, (Math.abs(move) / FULL_MOVE) * 0.75) };
}

/** Describes a call in one line. */
export function describeCall(call: Call, flame: Flame): string {
  const share = callShare(call, flame.samples), ns = nsPerOp(flame, call.total);
  const itself = call.caller ? `, itself ${formatPercent(call.own / Math.max(flame.samples, 1))}` : "";
  const moved = call.other == null || !call.caller ? "" : `; base ${formatPercent(call.other)}, ${formatPoints(share - call.other)} points`;
  const location = call.origin ? ` · ${call.module || "unknown file"}, ${ORIGINS[call.origin]}` : "";
  return `${call.name}: ${formatPercent(share)}${itself}, ${ns == null ? NONE : formatDuration(ns)} per operation${moved}${location}`;
}

export function createLegend(theme: Theme, compared: boolean): HTMLElement {
  const createKey = (fill: string, text: string) => h("span", { class: "key" }, h("span", { class: "swatch", style: `background:${fill}` }), text);
  const [grown, shrunken] = moveColours(theme);
  const marks = compared ? [createKey(grown, "larger share than base"), createKey(shrunken, "smaller share")]
    : Object.entries(ORIGINS).map(([origin, text]) => createKey(originColour(origin as Origin, theme), text));
  return h("p", { class: "keys" }, ...marks);
}

/** Creates the graph, with search, and with zoom by mouse and keyboard. */
export function flameGraph(root: Call, flame: Flame, theme: Theme, label: string): HTMLElement {
  let top = root, query = "";
  const line = h("p", { class: "note", role: "status" }), rows = h("div", { class: "rows", role: "tree", "aria-label": label });
  const hitsNote = h("span", { class: "note" });
  const search = h("input", { type: "search", placeholder: "function", "aria-label": "Search functions", input: (event) => {
    query = (event.target as HTMLInputElement).value;
    paint();
  } });
  const back = h("button", { type: "button", click: () => zoomTo(root) }, "Whole");
  const elements = new Map<Call, HTMLElement>();
  const showCall = (call: Call): void => { line.textContent = describeCall(call, flame); };
  const zoomTo = (call: Call): void => {
    top = call;
    paint();
    elements.get(call)?.focus();
  };
  const moveFocus = (call: Call, to: Call | null | undefined): void => {
    const element = to && elements.get(to);
    if (!element) return;
    elements.get(call)?.setAttribute("tabindex", "-1");
    element.setAttribute("tabindex", "0");
    element.focus();
  };
  const handleKey = (call: Call, event: KeyboardEvent): void => {
    const siblings = call.caller?.callees.filter((one) => elements.has(one)) ?? [], at = siblings.indexOf(call);
    const widest = [...call.callees].sort((a, b) => b.total - a.total)[0];
    const moves: Record<string, () => void> = {
      ArrowUp: () => moveFocus(call, call.caller), ArrowDown: () => moveFocus(call, widest),
      ArrowLeft: () => moveFocus(call, siblings[at - 1]), ArrowRight: () => moveFocus(call, siblings[at + 1]),
      Enter: () => zoomTo(call), " ": () => zoomTo(call), Escape: () => zoomTo(root),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  };
  const createCall = (call: Call, hits: Set<Call>): HTMLElement => {
    const topShare = callShare(top, flame.samples), isAbove = listCallers(top).includes(call);
    const left = isAbove ? 0 : (call.start - top.start) / topShare, width = isAbove ? 1 : callShare(call, flame.samples) / topShare;
    const { fill, opacity } = callColour(call, flame.samples, theme);
    const tint = `color-mix(in srgb, ${fill} ${Math.round(100 * opacity)}%, ${theme.ground})`;
    const element = h("div", {
      class: `call${hits.has(call) ? " hit" : ""}${isAbove ? " above" : ""}`, role: "treeitem", tabindex: call === top ? "0" : "-1",
      "aria-level": String(call.depth + 1), "aria-label": describeCall(call, flame),
      style: `left:${100 * left}%;width:${100 * width}%;top:${call.depth * ROW}px;background:${tint}`,
      click: () => zoomTo(call), mouseenter: () => showCall(call), focus: () => showCall(call),
      keydown: (event) => handleKey(call, event as KeyboardEvent),
    }, width > LABELLED / 2 ? call.name : "");
    elements.set(call, element);
    return element;
  };
  const paint = (): void => {
    const hits = findCalls(root, query), minShare = DRAWN * callShare(top, flame.samples);
    const visible = [...listCallers(top), ...listCalls(top).filter((call) => callShare(call, flame.samples) >= minShare)];
    elements.clear();
    rows.replaceChildren(...visible.map((call) => createCall(call, hits.calls)));
    rows.style.height = `${(Math.max(...visible.map((call) => call.depth)) + 1) * ROW}px`;
    rows.classList.toggle("searched", query !== "");
    hitsNote.textContent = query === "" ? "" : hits.calls.size === 0 ? "no such function" : `${formatPercent(hits.share)} in ${hits.calls.size} calls`;
    back.hidden = top === root;
    showCall(top);
  };
  paint();
  return h("div", { class: "flame" }, createLegend(theme, root.other != null), h("div", { class: "controls" }, search, back, hitsNote), rows, line);
}

/** Draws the whole graph as a picture, for saving. */
export function flamePicture(root: Call, flame: Flame, theme: Theme): SVGElement {
  const visible = listCalls(root).filter((call) => callShare(call, flame.samples) >= DRAWN);
  const height = (Math.max(...visible.map((call) => call.depth)) + 1) * ROW;
  return svg("svg", { width: String(SAVED_WIDTH), height: String(height), viewBox: `0 0 ${SAVED_WIDTH} ${height}` }, ...visible.map((call) => {
    const { fill, opacity } = callColour(call, flame.samples, theme);
    const x = call.start * SAVED_WIDTH, width = callShare(call, flame.samples) * SAVED_WIDTH, y = call.depth * ROW;
    const letters = Math.floor((width - 6) / LETTER);
    return svg("g", {}, svg("title", {}, describeCall(call, flame)),
      svg("rect", { x: x.toFixed(2), y: String(y), width: Math.max(width - 0.5, 0.5).toFixed(2), height: String(ROW - 1), fill, "fill-opacity": String(opacity), stroke: theme.line, "stroke-width": call.other == null ? "0" : "0.5" }),
      letters < 3 ? null : svg("text", { x: (x + 3).toFixed(2), y: String(y + 13), fill: theme.text, "font-size": "11", "font-family": FONT },
        call.name.length > letters ? `${call.name.slice(0, letters - 1)}…` : call.name));
  }));
}
