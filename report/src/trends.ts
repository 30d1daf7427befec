// The data of a history's page: a suite's figures over its runs.

import type { Definition, Direction, Judgement } from "./data";

export interface TrendData {
  kind: "trend";
  program: string;
  trend: Trend;
  remarks: [word: string, text: string][];
  definitions: Definition[];
}

export interface Trend {
  suite: string;
  machine: string;
  runs: TrendRun[];
  left_out: { run: string; reason: string }[];
  figures: TrendFigure[];
  gate: { result: "passed" | "undecided" | "failed" | "cannot_judge"; regressed: string[]; may_hide: string[] } | null;
}

export interface TrendRun {
  run: string;
  label: string;
  started_unix_ns: number;
  differs: string[];
}

export interface TrendFigure {
  case: string;
  phase: string;
  role: string | null;
  figure: string;
  unit: string;
  direction: Direction;
  values: (number | null)[];
  changes: TrendChange[];
  levels: number[];
}

export interface TrendChange {
  run_index: number;
  ratio: number | null;
  verdict: Judgement;
}
