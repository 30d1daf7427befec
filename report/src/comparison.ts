// What the program puts into the page of a comparison.

import type { ProfilePair } from "./flames";
import type { Definition, Direction } from "./data";

export interface VersusData {
  kind: "versus";
  program: string;
  versus: Versus | null;
  refused: { message: string; hint: string | null } | null;
  remarks: [word: string, text: string][];
  /** Null: no difference is to be explained. */
  explanation: ExplanationTable | null;
  profiles: ProfilePair[];
  definitions: Definition[];
  /** Null: the page is a file. */
  between: { base: string; new: string; all: boolean } | null;
}

/** Three columns of words, then three of numbers. */
export interface ExplanationTable {
  head: string[];
  rows: string[][];
  aid: string;
}

export type Judgement = "improved" | "regressed" | "changed" | "equal" | "undecided" | "too_few" | "described" | "not_comparable";

export interface Sample {
  value: number | null;
  n: number;
  min: number | null;
  max: number | null;
}

export interface VersusRow {
  phase: string;
  role: string | null;
  op: string | null;
  /** Those in words. */
  scope: string;
  figure: string;
  unit: string;
  direction: Direction;
  base: Sample;
  new: Sample;
  paired: boolean;
  ratio: number | null;
  ratio_low: number | null;
  ratio_high: number | null;
  /** Of each pair, in the order of trials; empty where they are no pairs. */
  ratios: number[];
  within: number;
  verdict: Judgement;
  reason: string | null;
}

export interface Pair {
  name: string;
  base_label: string;
  new_label: string;
  durability: string;
  threads: number | null;
  rows: VersusRow[];
}

export interface Side {
  run: string;
  label: string | null;
  suite: string;
  started_unix_ns: number;
  host: string;
  program: string;
  trials: number;
  invalid: string[];
}

export interface Gate {
  result: "passed" | "undecided" | "failed" | "cannot_judge";
  allowed: number;
  regressed: string[];
}

export interface Versus {
  base: Side;
  new: Side;
  differences: { subject: string; base: string; new: string }[];
  pairs: Pair[];
  unpaired: { in_base: boolean; name: string; reason: string }[];
  answer?: string[]; // What it comes to, the headline first; absent before there was such.
  counts: { judged: number } & Record<Judgement, number>;
  gate: Gate | null;
}
