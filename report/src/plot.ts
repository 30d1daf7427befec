// Small plots in SVG whose colours are the page's: lines over an axis of powers of ten, bars over time, ranges.
// Places are percents, so that they are as wide as there is room, and need not be drawn anew.

import { h, svg, type Child } from "./dom";

const TOP = 10;
const BOTTOM = 24;

const percent = (value: number): string => `${value.toFixed(3)}%`;

/** An axis: where its marks are, as a part of its length, and what they say. */
export type Marks = { at: number; text: string }[];

/** Marks of an axis of powers of ten. */
export function powers(low: number, high: number, text: (value: number) => string): Marks {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first) / 6));
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => {
    const value = 10 ** (first + index * step);
    return { at: logarithmic(value, low, high), text: text(value) };
  });
}

/** Where a value is on an axis of powers of ten. */
export function logarithmic(value: number, low: number, high: number): number {
  const span = Math.log10(high) - Math.log10(low);
  return span > 0 ? Math.min(1, Math.max(0, (Math.log10(Math.max(value, low)) - Math.log10(low)) / span)) : 0.5;
}

/** What is drawn into the area between the axes, from 0 to 1000 in both directions, as wide as there is room. */
function area(height: number, x: Marks, y: Marks, label: string, ...children: Child[]): SVGElement {
  const inner = height - TOP - BOTTOM;
  const from = (at: number) => (TOP + inner * (1 - at)).toFixed(1);
  const lines = y.map((mark) => svg("line", { x1: "0", x2: "100%", y1: from(mark.at), y2: from(mark.at), class: "tick" }));
  const words = y.map((mark) => svg("text", { x: "-6", y: from(mark.at), dy: "4", "text-anchor": "end" }, mark.text));
  const anchor = (at: number) => (at > 0.97 ? "end" : at < 0.03 ? "start" : "middle");
  const below = x.map((mark) => svg("text", { x: percent(mark.at * 100), y: String(height - 6), "text-anchor": anchor(mark.at) }, mark.text));
  return svg("svg", { class: "plotted", height: String(height), role: "img", "aria-label": label }, ...lines, ...words, ...below,
    svg("svg", { y: String(TOP), width: "100%", height: String(inner), viewBox: "0 0 1000 1000", preserveAspectRatio: "none", overflow: "visible" }, ...children));
}

export interface Line {
  name: string;
  /** Both from 0 to 1. */
  points: [x: number, y: number][];
}

/** Lines, each with a colour of its own (`s0`, `s1`). */
export function linePlot(lines: Line[], x: Marks, y: Marks, label: string): HTMLElement {
  const drawn = lines.map((line, at) => svg("polyline", {
    class: `line s${at}`, points: line.points.map(([px, py]) => `${(px * 1000).toFixed(1)},${((1 - py) * 1000).toFixed(1)}`).join(" "),
  }));
  return h("div", { class: "plotting" }, legend(lines.map((line) => line.name)), area(220, x, y, label, ...drawn));
}

export interface Bar {
  /** Of the axis. */
  whole: number;
  part: number;
  title: string;
}

/** Bars side by side, of each a part that is told apart. */
export function barPlot(bars: Bar[], names: [whole: string, part: string], x: Marks, y: Marks, label: string): HTMLElement {
  const each = 1000 / bars.length;
  const rect = (bar: Bar, at: number, height: number, name: string) => svg("rect", {
    class: name, x: (at * each + each * 0.08).toFixed(2), width: (each * 0.84).toFixed(2), y: ((1 - height) * 1000).toFixed(1), height: (height * 1000).toFixed(1),
  }, svg("title", {}, bar.title));
  const drawn = bars.flatMap((bar, at) => [rect(bar, at, bar.whole, "bar s0"), rect(bar, at, bar.part, "bar s1")]);
  return h("div", { class: "plotting" }, legend(names), area(200, x, y, label, ...drawn));
}

const legend = (names: string[]): HTMLElement =>
  h("p", { class: "legend" }, ...names.map((name, at) => h("span", {}, h("i", { class: `s${at}` }), name)));

/** From the least to the most, with marks between, on an axis of its table. */
export function rangePlot(values: number[], low: number, high: number, title: string): SVGElement {
  // A dot at either end is whole.
  const places = values.map((value) => 1.5 + logarithmic(value, low, high) * 97);
  const dots = places.slice(1, -1).map((place, at) => svg("circle", { cx: percent(place), cy: "9", r: at === 0 ? "4" : "2.5", class: "dot" }));
  return svg("svg", { class: "plotted range", height: "18", role: "img", "aria-label": title },
    svg("line", { x1: percent(places[0] ?? 0), x2: percent(places.at(-1) ?? 0), y1: "9", y2: "9", class: "span" }), ...dots, svg("title", {}, title));
}
