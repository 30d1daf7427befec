// What the program puts into the page: the types of crates/render/src/page, which a test holds
// these to (page/tests/mirror.rs). Numbers are raw; null is missing, never zero.

import type { Flame } from "./flames";
import type { History } from "./versions";
import type { Hiccups } from "./hiccups";
import type { Lost, Ranking } from "./ranked";
import type { RankRow } from "./crews";
import type { TimeLine, Written } from "./overtime";
import type { Search } from "./search"; import type { Sheet } from "./sheets";
import type { BesideStudy } from "./study";

export type { Gate, Judgement, Pair, Sample, Side, Versus, VersusData, VersusRow } from "./comparison";
export type { Cause, EventKind, Mark, MarkTotal, TimeLine, Written } from "./overtime";
export type Direction = "higher" | "lower" | "neither";
export type Verdict = "base" | "different" | "not_distinguishable" | "spread_unknown";
export type Severity = "invalid" | "warning" | "info";
export type Combine = "median" | "maximum" | "sum" | "mean" | "merged_histograms";

export interface Metric {
  name: string;
  unit: string;
  direction: Direction;
  source: string;
  combine: Combine;
  value: number | null;
  per_trial: (number | null)[];
  n: number;
  min: number | null;
  max: number | null;
  interval: { low: number; high: number; confidence: number } | null;
  missing: string | null;
}

/** A figure over that of its base, trial by trial. */
export interface Relative {
  base: string;
  ratio: number;
  low: number | null;
  high: number | null;
  verdict: Verdict;
  decided: boolean;
  more_pairs: number | null;
  /** Why nothing is judged. */
  reason: string | null;
}

export interface RoleRow {
  role: string;
  threads: number;
  /** Operations that each thread keeps in flight; null: it calls and waits. */
  depth: number | null;
  open_loop: boolean;
  mix: string;
  metrics: Metric[];
  relative: Relative | null;
  relative_volume?: Relative | null; // Absent where the suite names no volume.
  ops: { op: string; metrics: Metric[] }[];
}

export interface RunRow {
  phase: string;
  metrics: Metric[];
  roles: RoleRow[];
  device: string | null;
  /** What a bare drive was asked for; null: an engine. */
  job: Job | null;
  efficiency: Efficiency | null;
  /** Why costs per operation are not to be held against other engines'; null: they may. */
  different_mix?: string | null;
}

export interface Job {
  io: string;
  method: string;
  block_bytes: number;
  depth: number;
  blocking: boolean;
  executed_as: string | null;
}

/** What limits a role: one word for tables, findings and answers. */
export type Limit = "cpu_user" | "cpu_system" | "no_cpu" | "flushes" | "syncs" | "reads" | "writes" | "drive_full"
  | "device" | "stalls" | "lock" | "schedule" | "server" | "turns";

export interface Efficiency {
  in_flight: number;
  ceiling: Ceiling | null;
  drive: Ceiling | null;
  why_no_share: string | null;
  reads_alone: boolean;
  ios_per_op: number | null;
  cached: boolean;
  limit: Limit | null;
  why_no_limit: string | null;
}

export interface LoadRow {
  phase: string;
  threads: number;
  metrics: Metric[];
  relative: Relative | null;
  relative_volume?: Relative | null; // Absent where the suite names no volume.
}

export interface Trial {
  case: string;
  trial: number;
  done: boolean;
  outcome: string;
  message: string | null;
  not_measured: string[];
}

export interface Group {
  key: string;
  engine: string;
  label: string; part?: string | null; // The part, which it ends with; absent before there were such.
  durability: string;
  stores_nothing: boolean;
  bare_drive: boolean; // Its figures are the drive's: no engine under test.
  ceiling: boolean;
  threads: number | null;
  threads_swept: number | null;
  records: number;
  key_bytes: number;
  value_bytes_mean: number;
  user_bytes: number;
  ram_limit_bytes: number | null;
  ram_limit_held: boolean | null;
  within: number; // Two that differ by less are equal: a share.
  tier?: string | null; volume?: string | null; // Below the limit and the database; absent before there were such.
  trials: Trial[];
  load: LoadRow | null;
  runs: RunRow[];
}

export interface EngineInfo {
  label: string; part?: string | null; lost?: Lost | null;
  engine: string;
  durability: string;
  options: Record<string, unknown>;
  changed: string[];
  worker: {
    title: string;
    version: string;
    build: Record<string, string>;
    durability_settings: string | null;
    path: string;
    sha256: string;
    stores_nothing: boolean;
    bare_drive: boolean;
  } | null;
}

export interface Finding {
  id: string;
  severity: Severity;
  evidence: string;
  advice: string;
  cases: string[];
}

export interface Summary {
  method_version: number;
  run: {
    id: string;
    suite: string;
    name: string | null;
    note: string | null;
    title: string;
    program: string;
    format: string;
    command: string[];
    started_unix_ns: number;
    ended_unix_ns: number | null;
    data_dir: string;
    sized: string[];
    complete: boolean;
    cases_planned: number;
    cases_recorded: number;
    cases_done: number;
  };
  host: Host;
  engines: EngineInfo[];
  load_generator: { ns_per_op: number; threads: number; max_ns: number | null } | null;
  /** What the machine did to an idle thread before the run. */
  hiccups: Hiccups | null;
  /** Where a target stops being met. */
  search: Search | null;
  groups: Group[];
  rankings?: Ranking[]; // Absent before there was such.
  ranks: RankRow[];
  explained: Explained[];
  answer?: string[]; // What the run comes to, the headline first; absent before there was such.
  claims?: Claim[]; // What the suite claims; absent before there was such.
  verdicts: Verdicts; // Which figures are decided.
  not_measured: string[];
  disturbance?: string | null; // Absent before there was such.
  findings: Finding[];
  history?: History[]; // Engines over their versions; absent before there was such.
  study?: BesideStudy | null; // What a study published; absent before there was such.
}

/** The machine before the run. */
export interface Host {
  machine: { cpu_model: string; cpus: number; memory_bytes: number; virtual_machine: boolean | null };
  filesystem: { kind: string } | null;
  drive: { name: string } | null;
}

export interface Claim {
  verdict: "holds" | "does_not_hold" | "undecided";
  reason: string | null;
}

/** What a run decides: of its primary figures those that are undecided. */
export interface Verdicts {
  figures: number;
  undecided: { label: string; base: string; scope: string; more_pairs: number | null }[];
}

/** Where the time of a load or a role went. */
export interface Explained {
  group: number;
  phase: string;
  load: boolean;
  /** Null: a load. */
  role: string | null;
  threads: number;
  wait_samples: number;
  metrics: Metric[];
  cause: Limit | null;
  sentence: string | null;
  unknown: string[];
}

export interface Definition {
  name: string;
  unit: string;
  direction: Direction;
  source: string;
  combine: Combine;
  help: string;
}

/** What a time runs from, and to. */
export type Clock = "service" | "response" | "submit" | "completion";

export interface Curve {
  group: number;
  phase: string;
  role: string;
  op: string | null;
  kind: Clock;
  n: number;
  points: [nines: number, ns: number][];
}

export interface Heat {
  group: number;
  trial: number;
  phase: string;
  role: string;
  kind: Clock;
  column_s: number;
  columns: number;
  rows_per_decade: number;
  cells: [column: number, row: number, count: number][];
  /** Of each column p50, p95, p99 and p99.9; null: too few samples beyond. */
  tails: [p50: number | null, p95: number | null, p99: number | null, p999: number | null][];
}

export type BlockHeat = Omit<Heat, "role" | "kind" | "tails"> & { kind: string; owner: string };

/** A case of the bare drive, as the limit of engines. */
export interface Ceiling {
  job: string; volume?: string | null; // Absent before there were volumes.
  method: string;
  blocking: boolean;
  block_bytes: number; in_flight: number;
  reads_share: number;
  ios_per_s: number;
  ios_per_s_low: number;
  ios_per_s_high: number;
  n: number;
}

export interface PageData {
  kind: "report";
  program: string;
  answers: { workload: string; sentence: string }[];
  header: [word: string, text: string][];
  workloads: { group: number; phase: string; title: string }[];
  summary: Summary;
  definitions: Definition[];
  curves: Curve[];
  heats: Heat[];
  block_heats: BlockHeat[];
  flames: Flame[];
  time_lines: TimeLine[];
  written: Written[];
  ceilings: Ceiling[]; sheets?: Sheet[]; // Absent before there were studies.
  suite: string;
  /** Null: the page is a file, and nobody can be asked. */
  live: Live | null;
}

export type State = "complete" | "running" | "partial" | "unreadable";

export interface Live {
  state: State;
  cases_planned: number;
  cases_recorded: number;
  cases_done: number;
  started_unix_ns: number;
  left_s: number | null;
  in_flight: InFlight | null;
}

/** Of the last ten seconds; null: too few operations. */
export interface LatencyNow {
  role: string;
  op: string;
  kind: string;
  p50_ns: number | null;
  p99_ns: number | null;
  p999_ns: number | null;
}

export interface InFlight {
  case: string;
  engine: string;
  trial: number;
  threads: number | null;
  phases: string[];
  phase: string | null;
  phase_s: number;
  end_s: number[];
  roles: TimeLine["roles"];
  latencies: LatencyNow[];
  machine: TimeLine["machine"];
}

export interface RunsData {
  kind: "runs";
  program: string;
  dir: string | null; // Null: a site, without a server.
  runs: RunEntry[];
}

export interface RunEntry {
  name: string;
  state: State;
  message: string | null;
  suite: string;
  title: string;
  called: string | null;
  note: string | null;
  data: { records: number; record_bytes: number; ram_limit_bytes: number | null } | null;
  answer: string | null;
  verdicts: { figures: number; undecided: number };
  host: string;
  machine: string;
  drive: string | null;
  started_unix_ns: number | null;
  ended_unix_ns: number | null;
  paused_ns: number;
  engines: string[];
  cases_planned: number;
  cases_recorded: number;
  cases_done: number;
  findings: Record<Severity, number>;
}
