// Primary figures relative to their base's, with the pairs of trials that the program judged.

import { engineColour, type Theme } from "./colour";
import type { Metric, Relative } from "./data";
import { NONE, formatRatio } from "./format";
import { areJudged, convergence, pairTrials, type Interval, type Pair } from "./judge";
import { isScheduled, latencyOps, rateMetric, relativeRate, relativeResponse, tailMetric, type Case, type Engine } from "./model";
import { threadsSuffix, rateLabel, tailLabel } from "./phrases";
import { formatMorePairs } from "./sections";
import { threadCounts, type View } from "./view";

/** An engine's primary figure relative to the base's. */
export interface PairedFigure {
  engine: Engine;
  base: string;
  /** The compared quantity: `Reads/s, 4 threads`. */
  question: string;
  relative: Relative;
  /** Which way is better. */
  direction: "higher" | "lower";
  /** The judged pairs; empty: the page's pairs are not those that the program judged. */
  pairs: Pair[];
  course: Interval[];
}

/** Returns the compared quantity: `Reads/s, 4 threads`; of a role on a schedule `p99 of writer`. */
export function questionLabel(view: View, role: string, threads: number | null, op: string | null = null): string {
  if (view.work.load) return "Records/s";
  const at = threads != null && threadCounts(view).length > 1 ? threadsSuffix(view, role, threads) : "";
  return (isScheduled(view.cases, role) ? tailLabel(view, role, "p99", op) : rateLabel(view, role)) + at;
}

/** Returns all primary figures with a ratio, by role, then by threads. */
export function pairedFigures(view: View): PairedFigure[] {
  const counts = view.work.load ? [null] : threadCounts(view);
  const roleFigures = (role: string, threads: number | null, op: string | null) => view.engines.flatMap((engine) => {
    const one = view.cases.find((one) => one.engine.id === engine.id && one.threads === threads);
    return one ? pairedFigure(view, one, role, op) ?? [] : [];
  });
  return view.work.roles.flatMap((role) => {
    const ops = isScheduled(view.cases, role) ? latencyOps(view.cases, role) : [null];
    return ops.flatMap((op) => counts.flatMap((threads) => roleFigures(role, threads, op)));
  });
}

/** `op`: the operation whose response times are compared, of a role of several on a schedule. */
function pairedFigure(view: View, one: Case, role: string, op: string | null): PairedFigure | null {
  const scheduled = isScheduled([one], role);
  const relative = scheduled ? relativeResponse(one, role, op) : relativeRate(one, role);
  // The base is not compared with itself.
  if (!relative || relative.base === one.group.label) return null;
  const isSameWork = (other: Case) => other.work.id === one.work.id && other.threads === one.threads
    && other.group.durability === one.group.durability;
  const base = view.model.cases.find((other) => other.group.label === relative.base && isSameWork(other));
  if (!base) return null;
  const caseTrials = ({ group }: Case, metric: Metric) =>
    ({ metric, numbers: group.trials.map(({ trial }) => trial) });
  const read = (each: Case) => (scheduled ? tailMetric(each, role, "p99", op) : rateMetric(each, role));
  const figures = [read(base), read(one)] as const;
  const pairs = figures[0] && figures[1] ? pairTrials(caseTrials(base, figures[0]), caseTrials(one, figures[1])) : [];
  const own = !relative.reason && areJudged(pairs, relative) ? pairs : [];
  const question = questionLabel(view, role, one.threads, op);
  const names = { engine: one.engine, base: base.engine.name, question };
  return { ...names, relative, direction: scheduled ? "lower" : "higher", pairs: own, course: convergence(own) };
}

/** Formats the ratio of the figure; none where it is not judged. */
export const formatJudgedRatio = ({ relative }: PairedFigure): string => (relative.reason ? NONE : `${formatFineRatio(relative.ratio)}×`);

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

/** Returns the sign of a decided ratio: ▶ is better. */
export const verdictSign = ({ relative, direction }: PairedFigure): string =>
  (relative.verdict !== "different" ? "" : (relative.ratio > 1) === (direction === "higher") ? "▶" : "◀");

/** Returns the colour of dots and band. */
export const figureColour = (one: PairedFigure, theme: Theme): string => engineColour(one.engine, theme);
