// How pairs and intervals are drawn: an axis of ratios, a strip of dots, and the interval as it
// became narrow. Colours are attributes, so that a saved picture has them; places are percents.

import type { Theme } from "../colour";
import { svg } from "../dom";
import { ratio } from "../format";
import type { Interval } from "../judge";
import { cut } from "../layout";
import { unique } from "../model";
import { fine, inkOf, rangeOf, signOf, verdictOf, type PairedFigure } from "../paired";

export interface Scale {
  /** Its ends. */
  low: number;
  high: number;
  ticks: number[];
  /** Of 100: where a ratio stands, held inside the axis. */
  at: (ratio: number) => number;
}

/** Marks from coarse to fine: of the first list of which enough lie within the axis, else of the
 * one of which most do. */
const MARKS = [
  [0.001, 0.01, 0.1, 1, 10, 100, 1000], [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50],
  [0.5, 0.7, 1, 1.5, 2, 3, 4], [0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.5],
  [0.9, 0.95, 1, 1.05, 1.1, 1.15], [0.97, 0.98, 0.99, 1, 1.01, 1.02, 1.03],
];

const TICKS_MIN = 4;

/** Intervals that know next to nothing, fewer than a tenth, do not press all others together. */
const KNOWN = 0.9;

/** 1 and all pairs lie within it, and most intervals. */
export function scaleOf(paired: PairedFigure[]): Scale {
  const own = ({ relative, pairs }: PairedFigure) =>
    [relative.ratio, ...pairs.map((pair) => pair.ratio)];
  const dots = paired.flatMap(own);
  const lows = paired.flatMap(({ relative }) => relative.low ?? []).sort((a, b) => b - a);
  const highs = paired.flatMap(({ relative }) => relative.high ?? []).sort((a, b) => a - b);
  const most = (list: number[]) => list[Math.floor(list.length * KNOWN)] ?? list.at(-1) ?? 1;
  const least = Math.min(0.98, ...dots, most(lows)), top = Math.max(1.02, ...dots, most(highs));
  const room = (top / least) ** 0.04;
  const [low, high] = [least / room, top * room];
  const inside = (list: number[]) => list.filter((mark) => mark >= low && mark <= high);
  const lists = MARKS.map(inside);
  const longest = lists.reduce((a, b) => (b.length > a.length ? b : a));
  const ticks = lists.find((list) => list.length >= TICKS_MIN) ?? longest;
  const place = (value: number) => (100 * Math.log(value / low)) / Math.log(high / low);
  const at = (value: number) => Math.max(0, Math.min(100, place(Math.max(value, 1e-9))));
  return { low, high, ticks, at };
}

const percent = (value: number): string => `${value.toFixed(2)}%`;

type Attributes = Record<string, string>;

const line = (x1: string, x2: string, y1: string, y2: string, more: Attributes): SVGElement =>
  svg("line", { x1, x2, y1, y2, ...more });

function strip(height: number, words: string, ...inside: SVGElement[]): SVGElement {
  const own = { width: "100%", height: String(height), class: "strip", role: "img" };
  return svg("svg", { ...own, "aria-label": words }, svg("title", {}, words), ...inside);
}

export function axisOf(scale: Scale, theme: Theme): SVGElement {
  const label = (tick: number) => {
    const at = scale.at(tick), anchor = at < 4 ? "start" : at > 96 ? "end" : "middle";
    const fill = tick === 1 ? theme.text : theme.faint;
    const font = { "text-anchor": anchor, "font-size": "11", fill };
    return svg("text", { x: percent(at), y: "11", ...font }, `${tick}×`);
  };
  return svg("svg", { width: "100%", height: "15", class: "strip", "aria-hidden": "true" },
    ...scale.ticks.map(label));
}

/** A strip of few pairs is as high as a line of text; of more it is a little higher. */
export const heightOf = ({ pairs }: PairedFigure): number => 26 + 2 * Math.max(0, pairs.length - 8);

/** Band and whisker of the verdict. */
function intervalOf(one: PairedFigure, scale: Scale, theme: Theme, height: number): SVGElement[] {
  const { low, high } = one.relative;
  if (low == null || high == null) return [];
  const x = (value: number) => percent(scale.at(value)), middle = height / 2;
  const ink = { stroke: theme.text, "stroke-width": "1.4" };
  // An end inside the axis has a cap; one outside it does not end here.
  const caps = [low, high].filter((end) => end >= scale.low && end <= scale.high);
  return [
    svg("rect", {
      x: x(low), width: percent(scale.at(high) - scale.at(low)), y: "1", height: String(height - 2),
      fill: inkOf(one, theme), "fill-opacity": "0.16", class: "band",
    }),
    line(x(low), x(high), String(middle), String(middle), ink),
    ...caps.map((end) => line(x(end), x(end), String(middle - 4), String(middle + 4), ink)),
  ];
}

/** Dots, from the first pair to the last, over the interval of the verdict. */
export function stripOf(one: PairedFigure, scale: Scale, theme: Theme): SVGElement {
  const { relative, pairs } = one, height = heightOf(one), middle = height / 2;
  const x = (value: number) => percent(scale.at(value));
  const upright = (value: number, from: number, to: number, more: Attributes) =>
    line(x(value), x(value), String(from), String(to), more);
  const step = pairs.length > 1 ? (height - 10) / (pairs.length - 1) : 0;
  const dots = pairs.map((pair, at) => svg("circle", {
    cx: x(pair.ratio), cy: (pairs.length > 1 ? 5 + at * step : middle).toFixed(1), r: "3",
    fill: inkOf(one, theme), stroke: theme.ground, "stroke-width": "0.8", class: "dot",
  }, svg("title", {}, `trial ${pair.trial}: ${fine(pair.ratio)}×`)));
  const each = pairs.map((pair) => fine(pair.ratio)).join(", ") || "not known";
  const what = `${one.engine.name} over ${one.base}, ${one.question}`;
  const mean = { stroke: theme.text, "stroke-width": "2.4", class: "mean" };
  return strip(height, `${what}: ${fine(relative.ratio)}, interval ${rangeOf(one)}`,
    svg("desc", {}, `Its pairs in order: ${each}`),
    ...scale.ticks.map((tick) =>
      upright(tick, 0, height, { stroke: tick === 1 ? theme.faint : theme.grid })),
    ...intervalOf(one, scale, theme, height), ...dots,
    upright(relative.ratio, middle - 6, middle + 6, mean));
}

const hasCourse = (course: Interval[]): boolean => course.length > 1;

/** Whether it is to be seen of any of them how its interval became narrow. */
export const hasCourses = (paired: PairedFigure[]): boolean => paired.some(({ course }) => hasCourse(course));

const afterWords = ({ pairs, low, high }: Interval): string =>
  `after ${pairs} pairs ${ratio(low)} to ${ratio(high)}`;

/** The interval after 4, 5, 6... pairs; null: there is but one, or none, which is no course. */
export function convergenceOf(
  { course, engine }: PairedFigure, height: number, theme: Theme,
): SVGElement | null {
  if (!hasCourse(course)) return null;
  const logs = [0, ...course.flatMap(({ low, high }) => [Math.log(low), Math.log(high)])];
  const top = Math.max(...logs), span = Math.max(top - Math.min(...logs), 0.01);
  const y = (value: number) => (3 + ((height - 6) * (top - Math.log(value))) / span).toFixed(1);
  const x = (at: number) => percent(2 + (96 * at) / (course.length - 1));
  type End = (one: Interval) => number;
  const joined = (read: End, more: Attributes) => course.slice(1).map((one, at) =>
    line(x(at), x(at + 1), y(read(course[at] ?? one)), y(read(one)), more));
  const ink = { stroke: theme.text, "stroke-width": "1.3" };
  const reach = (one: Interval, at: number) => line(x(at), x(at), y(one.low), y(one.high),
    { ...ink, "stroke-opacity": at === course.length - 1 ? "1" : "0.25" });
  return strip(height, `${engine.name}: interval ${course.map(afterWords).join(", ")}`,
    line("0", "100%", y(1), y(1), { stroke: theme.faint, "stroke-dasharray": "3 3" }),
    ...joined((one) => one.low, ink), ...joined((one) => one.high, ink),
    ...joined((one) => one.ratio, { stroke: theme.faint }), ...course.map(reach));
}

const NAME = 130, STRIP = 340, CAME = 90, WORDS = 300, GAP = 14, HEAD = 22;

/** The same to be saved: a line for each, its words behind it. */
export function pictureOf(paired: PairedFigure[], scale: Scale, theme: Theme): SVGElement {
  const came = 8 + NAME + STRIP + GAP, courses = hasCourses(paired);
  const left = 8 + NAME, words = courses ? came + CAME + GAP : came;
  const text = (x: number, y: number, label: string, more: Attributes = {}) =>
    svg("text", { x: String(x), y: `${y}`, fill: theme.text, "font-size": "12", ...more }, label);
  const placed = (x: number, y: number, wide: number, high: number, inside: SVGElement | null) => {
    const [left, top, width, height] = [x, y, wide, high].map(String);
    return svg("svg", { x: left, y: top, width, height, overflow: "visible" }, inside);
  };
  let y = HEAD;
  const rowOf = (one: PairedFigure): SVGElement[] => {
    const top = y, height = heightOf(one), base = top + height / 2 + 4;
    y += height + 4;
    const value = `${signOf(one)} ${fine(one.relative.ratio)}×`;
    const label = `${value} (${rangeOf(one)}), ${verdictOf(one)}`;
    return [
      text(8, base, cut(one.engine.name, 18)),
      placed(left, top, STRIP, height, stripOf(one, scale, theme)),
      placed(came, top, CAME, height, convergenceOf(one, height, theme)),
      text(words, base, label.trim()),
    ];
  };
  const drawn = unique(paired.map((one) => one.question)).flatMap((question) => {
    const heading = text(8, y + 16, question, { "font-weight": "600" });
    y += HEAD;
    return [heading, ...paired.filter((one) => one.question === question).flatMap(rowOf)];
  });
  return svg("svg", { width: String(words + WORDS), height: String(y + 4) },
    placed(left, 4, STRIP, 15, axisOf(scale, theme)),
    courses ? text(came, 15, "as pairs came", { fill: theme.faint, "font-size": "11" }) : null, ...drawn);
}
