// Drawings of pairs and intervals: an axis of ratios, a strip of dots, and the narrowing interval. Colours
// are attributes, so that a saved picture has them; positions are percentages.

import type { Theme } from "../colour";
import { svg } from "../dom";
import { formatRatio } from "../format";
import type { Interval } from "../judge";
import { formatCoordinate, truncate } from "../layout";
import { unique } from "../model";
import { formatFineRatio, formatJudgedRatio, figureColour, formatInterval, verdictSign, formatVerdict, type PairedFigure } from "../paired";

export interface Scale {
  /** The ends of the axis. */
  low: number;
  high: number;
  ticks: number[];
  /** Returns a ratio's position in percent, clamped to the axis. */
  at: (ratio: number) => number;
}

/** Lists of marks, from coarse to fine. The axis has the first list with enough marks within it, else the list
 * with the most. */
const MARKS = [
  [0.001, 0.01, 0.1, 1, 10, 100, 1000], [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50],
  [0.5, 0.7, 1, 1.5, 2, 3, 4], [0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.5],
  [0.9, 0.95, 1, 1.05, 1.1, 1.15], [0.97, 0.98, 0.99, 1, 1.01, 1.02, 1.03],
];

const TICKS_MIN = 4;

/** The share of intervals' ends that the axis holds: a few very wide intervals do not compress the others. */
const KNOWN = 0.9;

/** Returns an axis that holds 1, all pairs, and most intervals. */
export function pairScale(paired: PairedFigure[]): Scale {
  const figureRatios = ({ relative, pairs }: PairedFigure) =>
    [...(relative.reason ? [] : [relative.ratio]), ...pairs.map((pair) => pair.ratio)];
  // A rate of 0 has no place on the axis.
  const dots = paired.flatMap(figureRatios).filter((ratio) => ratio > 0);
  const lows = paired.flatMap(({ relative }) => relative.low ?? []).sort((a, b) => b - a);
  const highs = paired.flatMap(({ relative }) => relative.high ?? []).sort((a, b) => a - b);
  const knownEnd = (list: number[]) => list[Math.floor(list.length * KNOWN)] ?? list.at(-1) ?? 1;
  const minimum = Math.min(0.98, ...dots, knownEnd(lows)), maximum = Math.max(1.02, ...dots, knownEnd(highs));
  const room = (maximum / minimum) ** 0.04;
  const [low, high] = [minimum / room, maximum * room];
  const marksInside = (list: number[]) => list.filter((mark) => mark >= low && mark <= high);
  const lists = MARKS.map(marksInside);
  const longest = lists.reduce((a, b) => (b.length > a.length ? b : a));
  const ticks = lists.find((list) => list.length >= TICKS_MIN) ?? longest;
  const percentAt = (value: number) => (100 * Math.log(value / low)) / Math.log(high / low);
  const at = (value: number) => Math.max(0, Math.min(100, percentAt(Math.max(value, 1e-9))));
  return { low, high, ticks, at };
}


type Attributes = Record<string, string>;

const line = (x1: string, x2: string, y1: string, y2: string, attributes: Attributes): SVGElement =>
  svg("line", { x1, x2, y1, y2, ...attributes });

function createStrip(height: number, words: string, ...inside: SVGElement[]): SVGElement {
  const attributes = { width: "100%", height: String(height), class: "strip", role: "img" };
  return svg("svg", { ...attributes, "aria-label": words }, svg("title", {}, words), ...inside);
}

export function drawAxis(scale: Scale, theme: Theme): SVGElement {
  const label = (tick: number) => {
    const at = scale.at(tick), anchor = at < 4 ? "start" : at > 96 ? "end" : "middle";
    const fill = tick === 1 ? theme.text : theme.faint;
    const font = { "text-anchor": anchor, "font-size": "11", fill };
    return svg("text", { x: formatCoordinate(at), y: "11", ...font }, `${tick}×`);
  };
  return svg("svg", { width: "100%", height: "15", class: "strip", "aria-hidden": "true" },
    ...scale.ticks.map(label));
}

/** Returns a strip's height: that of a line of text, and a little more with many pairs. */
export const stripHeight = ({ pairs }: PairedFigure): number => 26 + 2 * Math.max(0, pairs.length - 8);

/** Draws the band and the whisker of the verdict. */
function drawInterval(one: PairedFigure, scale: Scale, theme: Theme, height: number): SVGElement[] {
  const { low, high } = one.relative;
  if (low == null || high == null) return [];
  const x = (value: number) => formatCoordinate(scale.at(value)), middle = height / 2;
  const ink = { stroke: theme.text, "stroke-width": "1.4" };
  // Only an end inside the axis has a cap.
  const caps = [low, high].filter((end) => end >= scale.low && end <= scale.high);
  return [
    svg("rect", {
      x: x(low), width: formatCoordinate(scale.at(high) - scale.at(low)), y: "1", height: String(height - 2),
      fill: figureColour(one, theme), "fill-opacity": "0.16", class: "band",
    }),
    line(x(low), x(high), String(middle), String(middle), ink),
    ...caps.map((end) => line(x(end), x(end), String(middle - 4), String(middle + 4), ink)),
  ];
}

/** Draws the dots, from the first pair to the last, over the interval of the verdict. */
export function drawStrip(one: PairedFigure, scale: Scale, theme: Theme): SVGElement {
  const { relative, pairs } = one, height = stripHeight(one), middle = height / 2;
  const x = (value: number) => formatCoordinate(scale.at(value));
  const verticalLine = (value: number, from: number, to: number, attributes: Attributes) =>
    line(x(value), x(value), String(from), String(to), attributes);
  const step = pairs.length > 1 ? (height - 10) / (pairs.length - 1) : 0;
  const dots = pairs.map((pair, at) => svg("circle", {
    cx: x(pair.ratio), cy: (pairs.length > 1 ? 5 + at * step : middle).toFixed(1), r: "3",
    fill: figureColour(one, theme), stroke: theme.ground, "stroke-width": "0.8", class: "dot",
  }, svg("title", {}, `trial ${pair.trial}: ${formatFineRatio(pair.ratio)}×`)));
  const ratios = pairs.map((pair) => formatFineRatio(pair.ratio)).join(", ") || "not known";
  const subject = `${one.engine.name} over ${one.base}, ${one.question}`;
  const mean = { stroke: theme.text, "stroke-width": "2.4", class: "mean" };
  return createStrip(height, `${subject}: ${formatJudgedRatio(one)}, interval ${formatInterval(one)}`,
    svg("desc", {}, `Its pairs in order: ${ratios}`),
    ...scale.ticks.map((tick) =>
      verticalLine(tick, 0, height, { stroke: tick === 1 ? theme.faint : theme.grid })),
    ...drawInterval(one, scale, theme, height), ...dots,
    ...(relative.reason ? [] : [verticalLine(relative.ratio, middle - 6, middle + 6, mean)]));
}

const hasCourse = (course: Interval[]): boolean => course.length > 1;

/** Whether any of the figures has a course of its interval. */
export const hasCourses = (paired: PairedFigure[]): boolean => paired.some(({ course }) => hasCourse(course));

const formatCoursePoint = ({ pairs, low, high }: Interval): string =>
  `after ${pairs} pairs ${formatRatio(low)} to ${formatRatio(high)}`;

/** Draws the interval after 4, 5, 6... pairs; null: fewer than two intervals. */
export function drawConvergence(
  { course, engine }: PairedFigure, height: number, theme: Theme,
): SVGElement | null {
  if (!hasCourse(course)) return null;
  const logs = [0, ...course.flatMap(({ low, high }) => [Math.log(low), Math.log(high)])];
  const top = Math.max(...logs), span = Math.max(top - Math.min(...logs), 0.01);
  const y = (value: number) => (3 + ((height - 6) * (top - Math.log(value))) / span).toFixed(1);
  const x = (at: number) => formatCoordinate(2 + (96 * at) / (course.length - 1));
  type End = (one: Interval) => number;
  const joinEnds = (read: End, attributes: Attributes) => course.slice(1).map((one, at) =>
    line(x(at), x(at + 1), y(read(course[at] ?? one)), y(read(one)), attributes));
  const ink = { stroke: theme.text, "stroke-width": "1.3" };
  const intervalLine = (one: Interval, at: number) => line(x(at), x(at), y(one.low), y(one.high),
    { ...ink, "stroke-opacity": at === course.length - 1 ? "1" : "0.25" });
  return createStrip(height, `${engine.name}: interval ${course.map(formatCoursePoint).join(", ")}`,
    line("0", "100%", y(1), y(1), { stroke: theme.faint, "stroke-dasharray": "3 3" }),
    ...joinEnds((one) => one.low, ink), ...joinEnds((one) => one.high, ink),
    ...joinEnds((one) => one.ratio, { stroke: theme.faint }), ...course.map(intervalLine));
}

const NAME = 130, STRIP = 340, CONVERGENCE = 90, WORDS = 300, GAP = 14, HEAD = 22;

/** Draws all figures as a picture for saving: a line per figure, with its text behind it. */
export function pairsPicture(paired: PairedFigure[], scale: Scale, theme: Theme): SVGElement {
  const convergenceLeft = 8 + NAME + STRIP + GAP, courses = hasCourses(paired);
  const left = 8 + NAME, words = courses ? convergenceLeft + CONVERGENCE + GAP : convergenceLeft;
  const text = (x: number, y: number, label: string, attributes: Attributes = {}) =>
    svg("text", { x: String(x), y: `${y}`, fill: theme.text, "font-size": "12", ...attributes }, label);
  const placeInside = (x: number, y: number, wide: number, high: number, inside: SVGElement | null) => {
    const [left, top, width, height] = [x, y, wide, high].map(String);
    return svg("svg", { x: left, y: top, width, height, overflow: "visible" }, inside);
  };
  let y = HEAD;
  const drawRow = (one: PairedFigure): SVGElement[] => {
    const top = y, height = stripHeight(one), base = top + height / 2 + 4;
    y += height + 4;
    const value = `${verdictSign(one)} ${formatJudgedRatio(one)}`;
    const label = `${value} (${formatInterval(one)}), ${formatVerdict(one)}`;
    return [
      text(8, base, truncate(one.engine.name, 18)),
      placeInside(left, top, STRIP, height, drawStrip(one, scale, theme)),
      placeInside(convergenceLeft, top, CONVERGENCE, height, drawConvergence(one, height, theme)),
      text(words, base, label.trim()),
    ];
  };
  const rows = unique(paired.map((one) => one.question)).flatMap((question) => {
    const heading = text(8, y + 16, question, { "font-weight": "600" });
    y += HEAD;
    return [heading, ...paired.filter((one) => one.question === question).flatMap(drawRow)];
  });
  return svg("svg", { width: String(words + WORDS), height: String(y + 4) },
    placeInside(left, 4, STRIP, 15, drawAxis(scale, theme)),
    courses ? text(convergenceLeft, 15, "as pairs came", { fill: theme.faint, "font-size": "11" }) : null, ...rows);
}
