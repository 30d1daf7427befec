// What the idle machine alone did to a thread: said once on a page, below its first figure of latencies.

import { duration, grouped, inUnit } from "./format";

export interface Hiccups {
  length_ns: number;
  n: number;
  p999_ns: number | null;
  p9999_ns: number | null;
  max_ns: number;
  /** Gaps of 10 us and more, and the share of the time that was in them. */
  long: number;
  long_share: number;
}

/** Nothing where the run did not listen. */
export function hiccupNote(hiccups: Hiccups | null | undefined): string {
  if (!hiccups) return "";
  const named = ([["p99.9", hiccups.p999_ns], ["p99.99", hiccups.p9999_ns], ["max", hiccups.max_ns]] as const)
    .flatMap(([name, ns]) => (ns == null ? [] : [`${name} ${duration(ns)}`]));
  const long = hiccups.long === 0 ? "none of 10 µs or more"
    : `${grouped(hiccups.long)} of 10 µs or more, ${inUnit(hiccups.long_share * 100, "%")} of the time`;
  return `Scheduling jitter of this machine, idle for ${duration(hiccups.length_ns)}: ${named.join(", ")}; ${long}. Tails below its maximum may be its own.`;
}
