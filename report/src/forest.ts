// A forest plot: a ratio with its interval on a logarithmic axis that all rows share. 1 is in the middle, the
// range of equality is shaded, and a marker's shape and colour show the verdict.

import type { Judgement, VersusRow } from "./data";
import { svg } from "./dom";
import { formatCoordinate } from "./layout";

export const WORDS: Record<Judgement, string> = {
  improved: "improved", regressed: "regressed", changed: "changed", equal: "equal", undecided: "undecided",
  too_few: "too few repeats", described: "described", not_comparable: "not comparable",
};

export const JUDGEMENTS = Object.keys(WORDS) as Judgement[];

/** Outlines of the verdicts' markers, in a square of 12 units. */
export const OUTLINES: Record<Judgement, string> = {
  improved: "M6 .8 11.4 10.6H.6z",
  regressed: "M6 11.2.6 1.4h10.8z",
  changed: "M6 .4 11.6 6 6 11.6.4 6z",
  equal: "M2 3h8v2H2zM2 7h8v2H2z",
  undecided: "M6 2.2a3.8 3.8 0 1 0 .01 0z",
  too_few: "M6 2.2a3.8 3.8 0 1 0 .01 0z",
  described: "M2 5h8v2H2z",
  not_comparable: "M2 2l8 8M10 2l-8 8",
};

/** Markers on the line of an interval, where a dash would be invisible. */
export const POINTS: Record<Judgement, string> = { ...OUTLINES, described: "M4.9 1.4h2.2v9.2H4.9z" };

export const verdictMark = (verdict: Judgement): SVGElement =>
  svg("svg", { viewBox: "0 0 12 12", class: `vmark ${verdict}`, "aria-hidden": "true" }, svg("path", { d: OUTLINES[verdict] }));

export interface Scale {
  /** The end of the axis; its start is one over it. */
  most: number;
  ticks: number[];
  /** Returns a ratio's position in percent, clamped to the axis. */
  at: (ratio: number) => number;
}

const ENDS = [1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 30, 100];

/** Returns an axis that holds all ratios and 90 % of the intervals' ends: a few very wide intervals do not compress the others. */
export function ratioScale(rows: Pick<VersusRow, "ratio" | "ratio_low" | "ratio_high">[]): Scale {
  const distances = (value: number | null) => (value == null || value <= 0 ? [] : [Math.max(value, 1 / value)]);
  const ratios = rows.flatMap((row) => distances(row.ratio));
  const ends = rows.flatMap((row) => [...distances(row.ratio_low), ...distances(row.ratio_high)]).sort((a, b) => a - b);
  const widest = Math.max(1.02, ...ratios, ends[Math.floor(ends.length * 0.9)] ?? 1) * 1.01;
  const maximum = ENDS.find((end) => end >= widest) ?? 100;
  // One tick between, far enough from 1 and from the end for its label.
  const inner = ENDS.filter((end) => Math.log(end) > Math.log(maximum) * 0.3 && Math.log(end) < Math.log(maximum) * 0.6).slice(-1);
  const ticks = [maximum, ...inner].flatMap((end) => [1 / end, end]);
  const at = (ratio: number) => 50 + 50 * Math.max(-1, Math.min(1, Math.log(Math.max(ratio, 1e-9)) / Math.log(maximum)));
  return { most: maximum, ticks: [...ticks, 1].sort((a, b) => a - b), at };
}


/** Draws the axis, for the head of the table. */
export function ratioAxis(scale: Scale): SVGElement {
  const label = (tick: number) => {
    const anchor = tick === 1 ? "middle" : scale.at(tick) < 1 ? "start" : scale.at(tick) > 99 ? "end" : "middle";
    return svg("text", { x: formatCoordinate(scale.at(tick)), y: "11", "text-anchor": anchor }, `${Number(tick.toPrecision(2))}×`);
  };
  return svg("svg", { class: "forest axis", height: "15", "aria-hidden": "true" }, ...scale.ticks.map(label));
}

function equalBand(within: number, scale: Scale): SVGElement {
  const [low, high] = [scale.at(1 / (1 + within)), scale.at(1 + within)];
  return svg("rect", { x: formatCoordinate(low), width: formatCoordinate(high - low), y: "0", height: "26", class: "within" });
}

export function forestPlot(row: VersusRow, scale: Scale): SVGElement {
  const line = (x1: number, x2: number, y1: number, y2: number, name: string) =>
    svg("line", { x1: formatCoordinate(x1), x2: formatCoordinate(x2), y1: String(y1), y2: String(y2), class: name });
  const parts: SVGElement[] = [
    equalBand(row.within, scale),
    ...scale.ticks.map((tick) => line(scale.at(tick), scale.at(tick), 0, 26, tick === 1 ? "one" : "tick")),
  ];
  if (row.ratio_low != null && row.ratio_high != null) {
    const [low, high] = [scale.at(row.ratio_low), scale.at(row.ratio_high)];
    parts.push(line(low, high, 13, 13, "interval"));
    // Only an end inside the axis has a cap.
    if (row.ratio_low >= 1 / scale.most) parts.push(line(low, low, 9, 17, "interval"));
    if (row.ratio_high <= scale.most) parts.push(line(high, high, 9, 17, "interval"));
  }
  // The pairs' dots are below the line of the interval.
  parts.push(...row.ratios.map((ratio) => svg("circle", { cx: formatCoordinate(scale.at(ratio)), cy: "21", r: "1.7", class: "one-pair" })));
  if (row.ratio != null) {
    parts.push(svg("svg", { x: formatCoordinate(scale.at(row.ratio)), y: "7", width: "12", height: "12", overflow: "visible" },
      svg("path", { d: POINTS[row.verdict], transform: "translate(-6 0)", class: "point" })));
  }
  return svg("svg", { class: `forest ${row.verdict}`, height: "26", "aria-hidden": "true" }, ...parts);
}
