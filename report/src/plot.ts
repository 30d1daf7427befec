// Small SVG plots with the page's colours: lines over an axis of powers of ten, bars over time, ranges. Positions are
// percentages, so that the plots fit any width without being drawn again.

import { h, svg, type Child } from "./dom";
import { formatCoordinate } from "./layout";

const TOP = 10;
const BOTTOM = 24;


/** The marks of an axis: their positions as shares of its length, and their texts. */
export type Marks = { at: number; text: string }[];

/** Returns the marks of an axis of powers of ten. */
export function powerMarks(low: number, high: number, text: (value: number) => string): Marks {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first) / 6));
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => {
    const value = 10 ** (first + index * step);
    return { at: logPosition(value, low, high), text: text(value) };
  });
}

/** Returns a value's position, from 0 to 1, on an axis of powers of ten. */
export function logPosition(value: number, low: number, high: number): number {
  const span = Math.log10(high) - Math.log10(low);
  return span > 0 ? Math.min(1, Math.max(0, (Math.log10(Math.max(value, low)) - Math.log10(low)) / span)) : 0.5;
}

/** Draws axes with children in the area between them, whose coordinates run from 0 to 1000 in both directions. */
function plotArea(height: number, x: Marks, y: Marks, label: string, ...children: Child[]): SVGElement {
  const inner = height - TOP - BOTTOM;
  const yAt = (at: number) => (TOP + inner * (1 - at)).toFixed(1);
  const lines = y.map((mark) => svg("line", { x1: "0", x2: "100%", y1: yAt(mark.at), y2: yAt(mark.at), class: "tick" }));
  const words = y.map((mark) => svg("text", { x: "-6", y: yAt(mark.at), dy: "4", "text-anchor": "end" }, mark.text));
  const textAnchor = (at: number) => (at > 0.97 ? "end" : at < 0.03 ? "start" : "middle");
  const below = x.map((mark) => svg("text", { x: formatCoordinate(mark.at * 100), y: String(height - 6), "text-anchor": textAnchor(mark.at) }, mark.text));
  return svg("svg", { class: "plotted", height: String(height), role: "img", "aria-label": label }, ...lines, ...words, ...below,
    svg("svg", { y: String(TOP), width: "100%", height: String(inner), viewBox: "0 0 1000 1000", preserveAspectRatio: "none", overflow: "visible" }, ...children));
}

export interface Line {
  name: string;
  /** Points, with both coordinates from 0 to 1. */
  points: [x: number, y: number][];
}

/** Draws lines, each in its own colour (`s0`, `s1`). */
export function linePlot(lines: Line[], x: Marks, y: Marks, label: string): HTMLElement {
  const polylines = lines.map((line, at) => svg("polyline", {
    class: `line s${at}`, points: line.points.map(([px, py]) => `${(px * 1000).toFixed(1)},${((1 - py) * 1000).toFixed(1)}`).join(" "),
  }));
  return h("div", { class: "plotting" }, createLegend(lines.map((line) => line.name)), plotArea(220, x, y, label, ...polylines));
}

export interface Bar {
  /** The height of the bar, as a share of the axis; `part` is that of its part. */
  whole: number;
  part: number;
  title: string;
}

/** Draws bars side by side, each with a part in another colour. */
export function barPlot(bars: Bar[], names: [whole: string, part: string], x: Marks, y: Marks, label: string): HTMLElement {
  const barWidth = 1000 / bars.length;
  const rect = (bar: Bar, at: number, height: number, name: string) => svg("rect", {
    class: name, x: (at * barWidth + barWidth * 0.08).toFixed(2), width: (barWidth * 0.84).toFixed(2), y: ((1 - height) * 1000).toFixed(1), height: (height * 1000).toFixed(1),
  }, svg("title", {}, bar.title));
  const rects = bars.flatMap((bar, at) => [rect(bar, at, bar.whole, "bar s0"), rect(bar, at, bar.part, "bar s1")]);
  return h("div", { class: "plotting" }, createLegend(names), plotArea(200, x, y, label, ...rects));
}

const createLegend = (names: string[]): HTMLElement =>
  h("p", { class: "legend" }, ...names.map((name, at) => h("span", {}, h("i", { class: `s${at}` }), name)));

/** Draws a range from the first value to the last, with dots between, on the axis of its table. */
export function rangePlot(values: number[], low: number, high: number, title: string): SVGElement {
  // Leaves room for a whole dot at each end.
  const places = values.map((value) => 1.5 + logPosition(value, low, high) * 97);
  const dots = places.slice(1, -1).map((place, at) => svg("circle", { cx: formatCoordinate(place), cy: "9", r: at === 0 ? "4" : "2.5", class: "dot" }));
  return svg("svg", { class: "plotted range", height: "18", role: "img", "aria-label": title },
    svg("line", { x1: formatCoordinate(places[0] ?? 0), x2: formatCoordinate(places.at(-1) ?? 0), y1: "9", y2: "9", class: "span" }), ...dots, svg("title", {}, title));
}
