// Compares two figures of one run, pair by pair, by the program's rule (crates/analysis/src/judge/rule.rs).
// The page computes only what the program's verdicts lack: each pair, the interval after each pair, and
// marks for rows that are not primary figures.

import type { Metric, Relative } from "./data";

/** A trial that both figures have: the ratio of the new value to the base's. */
export interface Pair {
  trial: number;
  ratio: number;
}

/** Student's interval of the ratio after a number of pairs. */
export interface Interval {
  pairs: number;
  ratio: number;
  low: number;
  high: number;
}

/** A figure, with the trial number of each of its values. */
export interface Trials {
  metric: Metric;
  numbers: number[];
}

/** The least number of pairs for a verdict. */
export const PAIRS_MIN = 4;

const CONFIDENCE = 0.99;

/** The certainty of a ratio: different, equal (=), undecided (~), too few pairs (?). */
export type Mark = "" | "=" | "~" | "?";

/** Returns the trials that both figures have, in their order; empty: one of the values is 0. */
export function pairTrials(base: Trials, other: Trials): Pair[] {
  const baseValues = new Map(base.numbers.map((number, at) => [number, base.metric.per_trial[at]]));
  const pairs = other.numbers.flatMap((trial, at) => {
    const [from, to] = [baseValues.get(trial), other.metric.per_trial[at]];
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

/** Returns the quantile of Student's t: the number of standard errors on each side that hold the share `confidence`. */
export function studentQuantile(freedom: number, confidence: number): number {
  let [low, high] = [0, 1];
  while (centralShare(high, freedom) < confidence && high < 1e9) high *= 2;
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (centralShare(middle, freedom) < confidence) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Returns the geometric mean of the pairs' ratios. */
export const meanRatio = (pairs: Pair[]): number =>
  Math.exp(pairs.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / pairs.length);

/** Returns the interval of all these pairs; null: too few. */
export function ratioInterval(pairs: Pair[]): Interval | null {
  const n = pairs.length;
  if (n < PAIRS_MIN) return null;
  const mean = Math.log(meanRatio(pairs));
  const squares = pairs.reduce((sum, { ratio }) => sum + (Math.log(ratio) - mean) ** 2, 0);
  const reach = studentQuantile(n - 1, CONFIDENCE) * Math.sqrt(squares / (n - 1) / n);
  const [low, high] = [Math.exp(mean - reach), Math.exp(mean + reach)];
  return { pairs: n, ratio: Math.exp(mean), low, high };
}

/** Returns the interval after 4, 5, 6... pairs, in the order of the trials. */
export const convergence = (pairs: Pair[]): Interval[] =>
  pairs.flatMap((_, at) => ratioInterval(pairs.slice(0, at + 1)) ?? []);

/** Whether the program judged these pairs: it has the same mean and interval. */
export function areJudged(pairs: Pair[], relative: Relative): boolean {
  const interval = ratioInterval(pairs), { low, high } = relative;
  if (!interval || low == null || high == null) return interval == null && low == null;
  const computed = [interval.ratio, interval.low, interval.high], judged = [relative.ratio, low, high];
  return computed.every((value, at) => Math.abs(Math.log(value / (judged[at] ?? 0))) < 1e-6);
}

/** The margins of a judgement, as shares: what differs by less is equal, or may be a bias. */
export interface Margins {
  within: number;
  bias: number;
}

/** A smaller difference of two builds of one engine may come from their layout in memory. */
const BUILDS_BIAS = 0.01;

/** The width of the buckets from which percentiles are read. */
const BUCKET = 0.008;

/** Returns the margins of a figure, like `margins` in crates/analysis/src/judge/versus/judge.rs. */
export function figureMargins(figure: string, within: number, engines: [base: string, other: string]): Margins {
  const isLatency = /^(service|response|submit|completion)_/.test(figure);
  const bias = Math.max(engines[0] === engines[1] ? BUILDS_BIAS : 0, isLatency ? BUCKET : 0);
  return { within: Math.max(within, bias), bias };
}

/** Judges a figure that has no verdict of the program by its pairs. */
export function judgePairs(pairs: Pair[], { within, bias }: Margins): Mark {
  const interval = ratioInterval(pairs);
  if (!interval) return "?";
  if (interval.low > 1 + bias || interval.high < 1 / (1 + bias)) return "";
  return interval.low >= 1 / (1 + within) && interval.high <= 1 + within ? "=" : "~";
}
