// Primary figures relative to their base's, with the pairs of trials that the program judged.

import { engineColour, type Theme } from "./colour";
import type { Metric, Relative } from "./data";
import { NONE, formatRatio } from "./format";
import { areJudged, convergence, pairTrials, type Interval, type Pair } from "./judge";
import { rateMetric, relativeRate, findRole, type Case, type Engine } from "./model";
import { threadsSuffix, rateLabel } from "./phrases";
import { formatMorePairs } from "./sections";
import { threadCounts, type View } from "./view";

/** An engine's primary figure relative to the base's. */
export interface PairedFigure {
  engine: Engine;
  base: string;
  /** The compared quantity: `Reads/s, 4 threads`. */
  question: string;
  relative: Relative;
  /** The judged pairs; empty: the page's pairs are not those that the program judged. */
  pairs: Pair[];
  course: Interval[];
}

/** Returns the compared quantity: `Reads/s, 4 threads`. */
export function questionLabel(view: View, role: string, threads: number | null): string {
  if (view.work.load) return "Records/s";
  const at = threads != null && threadCounts(view).length > 1 ? threadsSuffix(view, role, threads) : "";
  return rateLabel(view, role) + at;
}

/** Returns all primary figures with a ratio, by role, then by threads. */
export function pairedFigures(view: View): PairedFigure[] {
  const counts = view.work.load ? [null] : threadCounts(view);
  const roleFigures = (role: string, threads: number | null) => view.engines.flatMap((engine) => {
    const one = view.cases.find((one) => one.engine.id === engine.id && one.threads === threads);
    return one ? pairedFigure(view, one, role) ?? [] : [];
  });
  return view.work.roles.flatMap((role) => counts.flatMap((threads) => roleFigures(role, threads)));
}

function pairedFigure(view: View, one: Case, role: string): PairedFigure | null {
  const relative = relativeRate(one, role);
  // A scheduled rate is not compared, nor is the base with itself.
  if (!relative || relative.base === one.group.label || findRole(one, role)?.open_loop) return null;
  const isSameWork = (other: Case) => other.work.id === one.work.id && other.threads === one.threads
    && other.group.durability === one.group.durability;
  const base = view.model.cases.find((other) => other.group.label === relative.base && isSameWork(other));
  if (!base) return null;
  const caseTrials = ({ group }: Case, metric: Metric) =>
    ({ metric, numbers: group.trials.map(({ trial }) => trial) });
  const rates = [rateMetric(base, role), rateMetric(one, role)] as const;
  const pairs = rates[0] && rates[1] ? pairTrials(caseTrials(base, rates[0]), caseTrials(one, rates[1])) : [];
  const own = areJudged(pairs, relative) ? pairs : [];
  const question = questionLabel(view, role, one.threads);
  const names = { engine: one.engine, base: base.engine.name, question };
  return { ...names, relative, pairs: own, course: convergence(own) };
}

/** Formats a ratio, with one more digit close to 1. */
export const formatFineRatio = (value: number): string =>
  (value > 0.9 && value < 1.1 ? value.toFixed(3) : formatRatio(value));

/** Returns `1.99 to 3.96`. */
export function formatInterval({ relative: { low, high } }: PairedFigure): string {
  if (low == null || high == null) return NONE;
  const digits = low > 0.9 && high < 1.1 ? formatFineRatio : formatRatio;
  return `${digits(low)} to ${digits(high)}`;
}

/** Returns `decided, 5 pairs` or `undecided: about 6 more pairs`. */
export function formatVerdict({ relative, pairs }: PairedFigure): string {
  if (relative.reason) return `not judged: ${relative.reason}`;
  if (!relative.decided) return `undecided: ${formatMorePairs(relative.more_pairs)}`;
  const count = pairs.length > 0 ? `, ${pairs.length} pairs` : "";
  return (relative.verdict === "different" ? "decided" : "equal") + count;
}

/** Returns the direction of a decided ratio: to the right is better, which for a rate is more. */
export const verdictSign = ({ relative }: PairedFigure): string =>
  (relative.verdict !== "different" ? "" : relative.ratio > 1 ? "▶" : "◀");

/** Returns the colour of dots and band. */
export const figureColour = (one: PairedFigure, theme: Theme): string => engineColour(one.engine, theme);
