// Two figures of one run, pair by pair, as the program judges them (crates/analysis/src/judge/rule.rs):
// what the page needs beyond the verdicts that the program gives it. Each pair by itself, the interval
// as pairs came in, and rows that are no primary figures.

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

/** The trials that both have, in the order in which they came. */
export function pairsOf(base: Trials, other: Trials): Pair[] {
  const own = new Map(base.numbers.map((number, at) => [number, base.metric.per_trial[at]]));
  return other.numbers.flatMap((trial, at) => {
    const [from, to] = [own.get(trial), other.metric.per_trial[at]];
    return from != null && to != null && from > 0 && to > 0 ? [{ trial, ratio: to / from }] : [];
  }).sort((a, b) => a.trial - b.trial);
}

/** Student's t below which a share lies, two-sided: its distribution in closed form, for whole degrees
 * of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4). */
function within(t: number, freedom: number): number {
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
  while (within(high, freedom) < sure && high < 1e9) high *= 2;
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (within(middle, freedom) < sure) low = middle;
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
  return { pairs: n, ratio: Math.exp(mean), low: Math.exp(mean - reach), high: Math.exp(mean + reach) };
}

/** The interval after 4, 5, 6... pairs, in the order in which they came. */
export const asTheyCame = (pairs: Pair[]): Interval[] => pairs.flatMap((_, at) => intervalOf(pairs.slice(0, at + 1)) ?? []);

/** Whether these are the pairs that the program judged: their mean and interval are its own. */
export function areJudged(pairs: Pair[], relative: Relative): boolean {
  const interval = intervalOf(pairs);
  if (!interval || relative.low == null || relative.high == null) return interval == null && relative.low == null;
  const same = (a: number, b: number) => Math.abs(Math.log(a / b)) < 1e-6;
  return same(interval.ratio, relative.ratio) && same(interval.low, relative.low) && same(interval.high, relative.high);
}

/** What pairs say of a figure that has no verdict of the program: `~` not shown to differ, `?` too few. */
export function markOf(pairs: Pair[], [base, other]: [Metric, Metric]): "" | "~" | "?" {
  const interval = intervalOf(pairs);
  if (interval) return interval.low > 1 || interval.high < 1 ? "" : "~";
  const apart = [base, other].some(({ n, min, max }) => n < 2 || min == null || max == null)
    || base.min! > other.max! || other.min! > base.max!;
  return apart ? "?" : "~";
}
