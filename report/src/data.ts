// The page's data: types that mirror those of crates/render/src/page. A test compares both
// (page/tests/mirror.rs). Numbers are raw; null means missing, never zero.

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

/** A figure divided by its base's figure, trial by trial. */
export interface Relative {
  base: string;
  ratio: number;
  low: number | null;
  high: number | null;
  verdict: Verdict;
  decided: boolean;
  more_pairs: number | null;
  /** Why there is no verdict; null: there is one. */
  reason: string | null;
}

export interface RoleRow {
  role: string;
  threads: number;
  /** Operations that each thread keeps in flight; null: calls are blocking. */
  depth: number | null;
  open_loop: boolean;
  mix: string;
  metrics: Metric[];
  validity?: Validity | null; // Absent in older data.
  relative: Relative | null;
  relative_volume?: Relative | null; // Absent where the suite names no volume.
  /** The p99 of response times over the base's, on a schedule; of a mix, each operation has its own. */
  relative_response?: Relative | null;
  ops: { op: string; metrics: Metric[]; relative_response?: Relative | null }[];
}

/** Whether a rate lasts. */
export interface Validity {
  word: "sustained" | "burst" | "void";
  /** Why it is a burst, or void: a finding; null: it is sustained. */
  reason: string | null;
}

export interface RunRow {
  phase: string; settle?: string | null; // The phase of settling after it; absent in older data.
  metrics: Metric[];
  roles: RoleRow[];
  device: string | null;
  /** The bare drive's job; null: the case is of an engine. */
  job: Job | null;
  efficiency: Efficiency | null;
  /** Why costs per operation are not comparable between engines; null: they are. */
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

/** The limit of a role, as named in tables, findings and answers. */
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
  phase: string; settle?: string | null; // The phase of settling after it; absent in older data.
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
  label: string; part?: string | null; // The suite's part, with which the label ends; absent in older data.
  durability: string;
  stores_nothing: boolean;
  bare_drive: boolean; // A job of the bare drive, not an engine.
  ceiling: boolean;
  threads: number | null;
  threads_swept: number | null;
  records: number;
  key_bytes: number;
  value_bytes_mean: number;
  user_bytes: number;
  ram_limit_bytes: number | null;
  ram_limit_held: boolean | null;
  within: number; // The relative difference below which figures are equal.
  tier?: string | null; volume?: string | null; // The memory tier, and the database's volume; absent in older data.
  void?: string | null; // The finding that makes its figures invalid; absent in older data.
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
  /** Scheduling jitter of the idle machine before the run; null: not measured. */
  hiccups: Hiccups | null;
  /** The search for the value at which a target is no longer met; null: none. */
  search: Search | null;
  groups: Group[];
  rankings?: Ranking[]; // Absent in older data.
  ranks: RankRow[];
  explained: Explained[];
  answer?: string[]; // The run's result, headline first; absent in older data.
  claims?: Claim[]; // The suite's claims; absent in older data.
  verdicts: Verdicts; // The decided and undecided primary figures.
  not_measured: string[];
  disturbance?: string | null; // Absent in older data.
  findings: Finding[];
  history?: History[]; // Engines over their versions; absent in older data.
  study?: BesideStudy | null; // A study's published figures; absent in older data.
}

/** The machine, as found before the run. */
export interface Host {
  machine: { cpu_model: string; cpus: number; memory_bytes: number; virtual_machine: boolean | null };
  filesystem: { kind: string } | null;
  drive: { name: string } | null;
}

export interface Claim {
  verdict: "holds" | "does_not_hold" | "undecided";
  reason: string | null;
}

/** The number of primary figures, and those that are undecided. */
export interface Verdicts {
  figures: number;
  undecided: { label: string; base: string; scope: string; more_pairs: number | null; reason: string | null }[];
}

/** The time of a load or a role, by cause. */
export interface Explained {
  group: number;
  phase: string;
  load: boolean;
  /** The role; null: a load. */
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

/** The kind of a latency: the moments at which it starts and ends. */
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
  /** p50, p95, p99 and p99.9 of each column; null: too few slower samples. */
  tails: [p50: number | null, p95: number | null, p99: number | null, p999: number | null][];
}

export type BlockHeat = Omit<Heat, "role" | "kind" | "tails"> & { kind: string; owner: string };

/** A case of the bare drive, as the upper limit of engines. */
export interface Ceiling {
  job: string; volume?: string | null; // Absent in older data.
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
  ceilings: Ceiling[]; sheets?: Sheet[]; // Absent in older data.
  suite: string;
  /** The state of a running run; null: the page is a file, without a server. */
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

/** Latencies of the last ten seconds; null: too few operations. */
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
