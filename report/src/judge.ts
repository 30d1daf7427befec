// Two figures of one run, pair by pair, as the program judges them: its rule is
// crates/analysis/src/judge/rule.rs. Here is what the page needs beyond the program's verdicts:
// each pair by itself, the interval as pairs came in, and rows that are no primary figures.

import type { Metric, Relative } from "./data";

/** One trial of both: the new over the base. */
export interface Pair {
  trial: number;
  ratio: number;
}

/** Student's interval of the ratio after so many pairs. */
export interface Interval {
  pairs: number;
  ratio: number;
  low: number;
  high: number;
}

/** A figure with the number of the trial of each of its values. */
export interface Trials {
  metric: Metric;
  numbers: number[];
}

/** Below so many pairs nothing is judged. */
export const PAIRS_MIN = 4;

const CONFIDENCE = 0.99;

/** How sure a ratio is: sure, equal, not shown to differ, of too few pairs. */
export type Mark = "" | "=" | "~" | "?";

/** The trials that both have, in the order in which they came; none where one of them is 0. */
export function pairsOf(base: Trials, other: Trials): Pair[] {
  const own = new Map(base.numbers.map((number, at) => [number, base.metric.per_trial[at]]));
  const pairs = other.numbers.flatMap((trial, at) => {
    const [from, to] = [own.get(trial), other.metric.per_trial[at]];
    return from == null || to == null ? [] : [{ trial, ratio: from > 0 ? to / from : 0 }];
  });
  return pairs.every(({ ratio }) => ratio > 0) ? pairs.sort((a, b) => a.trial - b.trial) : [];
}

/** The share within `t` on both sides of 0 of Student's distribution: in closed form, for whole
 * degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4). */
function centralShare(t: number, freedom: number): number {
  const angle = Math.atan(t / Math.sqrt(freedom)), square = Math.cos(angle) ** 2;
  const odd = freedom % 2 === 1;
  let term = odd ? Math.cos(angle) : 1, sum = freedom === 1 ? 0 : term;
  for (let n = odd ? 3 : 2; n < freedom; n += 2) {
    term *= square * ((n - 1) / n);
    sum += term;
  }
  return odd ? (2 / Math.PI) * (angle + Math.sin(angle) * sum) : Math.sin(angle) * sum;
}

/** How many standard errors on either side hold the share `sure`. */
export function quantileOfT(freedom: number, sure: number): number {
  let [low, high] = [0, 1];
  while (centralShare(high, freedom) < sure && high < 1e9) high *= 2;
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (centralShare(middle, freedom) < sure) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The geometric mean of the pairs' ratios. */
export const meanRatio = (pairs: Pair[]): number =>
  Math.exp(pairs.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / pairs.length);

/** The interval of all of these pairs; null: too few. */
export function intervalOf(pairs: Pair[]): Interval | null {
  const n = pairs.length;
  if (n < PAIRS_MIN) return null;
  const mean = Math.log(meanRatio(pairs));
  const squares = pairs.reduce((sum, { ratio }) => sum + (Math.log(ratio) - mean) ** 2, 0);
  const reach = quantileOfT(n - 1, CONFIDENCE) * Math.sqrt(squares / (n - 1) / n);
  const [low, high] = [Math.exp(mean - reach), Math.exp(mean + reach)];
  return { pairs: n, ratio: Math.exp(mean), low, high };
}

/** The interval after 4, 5, 6... pairs, in the order in which they came. */
export const convergence = (pairs: Pair[]): Interval[] =>
  pairs.flatMap((_, at) => intervalOf(pairs.slice(0, at + 1)) ?? []);

/** Whether these are the pairs that the program judged: their mean and interval are its own. */
export function areJudged(pairs: Pair[], relative: Relative): boolean {
  const interval = intervalOf(pairs), { low, high } = relative;
  if (!interval || low == null || high == null) return interval == null && low == null;
  const own = [interval.ratio, interval.low, interval.high], judged = [relative.ratio, low, high];
  return own.every((value, at) => Math.abs(Math.log(value / (judged[at] ?? 0))) < 1e-6);
}

/** What pairs say of a figure that has no verdict of the program; two that differ by less than
 * the share `within` are equal. */
export function markOf(pairs: Pair[], [base, other]: [Metric, Metric], within: number): Mark {
  const interval = intervalOf(pairs);
  if (interval) {
    if (interval.low > 1 || interval.high < 1) return "";
    return interval.low >= 1 / (1 + within) && interval.high <= 1 + within ? "=" : "~";
  }
  // Ranges that do not overlap are no proof yet.
  const apart = [base, other].some(({ n, min, max }) => n < 2 || min == null || max == null)
    || base.min! > other.max! || other.min! > base.max!;
  return apart ? "?" : "~";
}
