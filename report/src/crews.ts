// The data of a crew's ranks.

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
