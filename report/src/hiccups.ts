// Scheduling jitter of the idle machine: a note below the first latency figure of a page.

import { formatDuration, formatThousands, formatValue } from "./format";

export interface Hiccups {
  length_ns: number;
  n: number;
  p999_ns: number | null;
  p9999_ns: number | null;
  max_ns: number;
  /** The number of gaps of 10 us and more; `long_share` is their share of the time. */
  long: number;
  long_share: number;
}

/** Returns the note; empty: the run did not measure jitter. */
export function hiccupNote(hiccups: Hiccups | null | undefined): string {
  if (!hiccups) return "";
  const percentiles = ([["p99.9", hiccups.p999_ns], ["p99.99", hiccups.p9999_ns], ["max", hiccups.max_ns]] as const)
    .flatMap(([name, ns]) => (ns == null ? [] : [`${name} ${formatDuration(ns)}`]));
  const long = hiccups.long === 0 ? "none of 10 µs or more"
    : `${formatThousands(hiccups.long)} of 10 µs or more, ${formatValue(hiccups.long_share * 100, "%")} of the time`;
  return `Scheduling jitter of this machine, idle for ${formatDuration(hiccups.length_ns)}: ${percentiles.join(", ")}; ${long}. Tails below its maximum may be its own.`;
}
