// The data of a comparison's page.

import type { ProfilePair } from "./flames";
import type { Definition, Direction } from "./data";

export interface VersusData {
  kind: "versus";
  program: string;
  versus: Versus | null;
  refused: { message: string; hint: string | null } | null;
  remarks: [word: string, text: string][];
  /** The causes of the differences; null: there is no difference to explain. */
  explanation: ExplanationTable | null;
  profiles: ProfilePair[];
  definitions: Definition[];
  /** The compared runs on the server; null: the page is a file. */
  between: { base: string; new: string; all: boolean } | null;
}

/** A table with three columns of text, then three of numbers. */
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
  /** Phase, role and operation as text. */
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
  /** The ratio of each pair, in the order of trials; empty: the trials are not paired. */
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
  answer?: string[]; // The result, headline first; absent in older data.
  counts: { judged: number } & Record<Judgement, number>;
  gate: Gate | null;
}
