// Primary figures over those of their base, with the pairs of trials that the program judged.

import { colourOf, type Theme } from "./colour";
import type { Metric, Relative } from "./data";
import { NONE, ratio } from "./format";
import { areJudged, convergence, pairsOf, type Interval, type Pair } from "./judge";
import { rateOf, relativeOf, roleOf, type Case, type Engine } from "./model";
import { atWords, rateWords } from "./phrases";
import { moreWords } from "./sections";
import { threadsOf, type View } from "./view";

/** An engine's primary figure over the base's. */
export interface PairedFigure {
  engine: Engine;
  base: string;
  /** What is compared: `Reads/s, 4 threads`. */
  question: string;
  relative: Relative;
  /** Empty: these are not the pairs that the program judged. */
  pairs: Pair[];
  course: Interval[];
}

/** `Reads/s, 4 threads`: what is compared. */
export function questionOf(view: View, role: string, threads: number | null): string {
  if (view.work.load) return "Records/s";
  const at = threads != null && threadsOf(view).length > 1 ? atWords(view, role, threads) : "";
  return rateWords(view, role) + at;
}

/** All primary figures with a ratio, by role, then by threads. */
export function pairedFigures(view: View): PairedFigure[] {
  const counts = view.work.load ? [null] : threadsOf(view);
  const paired = (role: string, threads: number | null) => view.engines.flatMap((engine) => {
    const one = view.cases.find((one) => one.engine.id === engine.id && one.threads === threads);
    return one ? pairedFigure(view, one, role) ?? [] : [];
  });
  return view.work.roles.flatMap((role) => counts.flatMap((threads) => paired(role, threads)));
}

function pairedFigure(view: View, one: Case, role: string): PairedFigure | null {
  const relative = relativeOf(one, role);
  // A rate that a schedule sets says nothing, and nothing is its own rival.
  if (!relative || relative.base === one.group.label || roleOf(one, role)?.open_loop) return null;
  const same = (other: Case) => other.work.id === one.work.id && other.threads === one.threads
    && other.group.durability === one.group.durability;
  const base = view.model.cases.find((other) => other.group.label === relative.base && same(other));
  if (!base) return null;
  const trials = ({ group }: Case, metric: Metric) =>
    ({ metric, numbers: group.trials.map(({ trial }) => trial) });
  const rates = [rateOf(base, role), rateOf(one, role)] as const;
  const pairs = rates[0] && rates[1] ? pairsOf(trials(base, rates[0]), trials(one, rates[1])) : [];
  const own = areJudged(pairs, relative) ? pairs : [];
  const question = questionOf(view, role, one.threads);
  const names = { engine: one.engine, base: base.engine.name, question };
  return { ...names, relative, pairs: own, course: convergence(own) };
}

/** A ratio; of one close to 1 a digit more. */
export const fine = (value: number): string =>
  (value > 0.9 && value < 1.1 ? value.toFixed(3) : ratio(value));

/** `1.99 to 3.96`. */
export function rangeOf({ relative: { low, high } }: PairedFigure): string {
  if (low == null || high == null) return NONE;
  const digits = low > 0.9 && high < 1.1 ? fine : ratio;
  return `${digits(low)} to ${digits(high)}`;
}

/** `decided, 5 pairs`, `undecided: about 6 more pairs`. */
export function verdictOf({ relative, pairs }: PairedFigure): string {
  if (relative.reason) return `not judged: ${relative.reason}`;
  if (!relative.decided) return `undecided: ${moreWords(relative.more_pairs)}`;
  const count = pairs.length > 0 ? `, ${pairs.length} pairs` : "";
  return (relative.verdict === "different" ? "decided" : "equal") + count;
}

/** Which way it goes, as in all tables: to the right is better, and of a rate that is more. */
export const signOf = ({ relative }: PairedFigure): string =>
  (relative.verdict !== "different" ? "" : relative.ratio > 1 ? "▶" : "◀");

/** The colour of dots and band. */
export const inkOf = (one: PairedFigure, theme: Theme): string => colourOf(one.engine, theme);
