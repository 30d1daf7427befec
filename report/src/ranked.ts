// The data of rankings: engines in order, by question.

import type { Direction, Verdict } from "./data";

/** An engine's losses in tests of power failure. */
export interface Lost {
  states: number;
  lost: number;
  corrupt: number;
}

export type Question = "loading" | "reads" | "writes" | "scans" | "mixed" | "read_latency" | "write_latency" | "space" | "write_amplification" | "tail" | "opening" | "recovery";

export interface Ranking {
  question: Question;
  main: boolean;
  setting: string;
  durability: string;
  part: string | null;
  phase: string;
  role: string | null;
  op?: string | null; // The operation of a mix; absent in older data.
  threads: number | null;
  figure: string;
  unit: string;
  direction: Direction;
  standings: Standing[];
}

export interface Standing {
  engine: string;
  group: number | null;
  rank: number | null;
  tied: boolean;
  value: number | null;
  low: number | null;
  high: number | null;
  n: number;
  ratio_to_best: number | null;
  ratio_to_best_low: number | null;
  ratio_to_best_high: number | null;
  verdict: Verdict | null;
  decided?: boolean; // Absent in older data.
  lost: Lost | null;
  missing: string | null;
}
