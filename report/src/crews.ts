// What the ranks of a crew did beside each other.

import type { Metric } from "./data";

/** A rank of a crew in a load or a measured phase. */
export interface RankRow {
  group: number;
  phase: string;
  rank: number;
  ranks: number;
  host: string;
  threads: number;
  metrics: Metric[];
}
