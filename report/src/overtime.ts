// The data of a phase over time: operations, the machine, and the engine's internal events.

export type EventKind = "flush" | "compaction" | "checkpoint" | "stall" | "other";

export interface Mark {
  kind: EventKind;
  start_s: number;
  end_s: number | null;
  detail: string;
}

export interface MarkTotal {
  kind: EventKind;
  count: number;
  sum_s: number | null;
  longest_s: number | null;
}

type Line = (number | null)[];

export interface TimeLine {
  group: number;
  trial: number;
  phase: string;
  kind: string;
  wall_s: number;
  end_s: number[];
  roles: { role: string; ops_per_s: number[]; max_ns: Line }[];
  machine: {
    at_s: number[];
    cpu_percent: Line;
    read_mb_per_s: Line;
    write_mb_per_s: Line;
    read_iops: Line;
    write_iops: Line;
    read_us: Line;
    write_us: Line;
    flush_us: Line;
    queue_depth: Line;
    rss_mib: Line;
    database_mib: Line;
  };
  marks: Mark[];
  mark_totals: MarkTotal[];
}

/** Bytes written by cause in a phase of a trial, as the engine reports them. */
export interface Written {
  group: number;
  trial: number;
  phase: string;
  bytes: [cause: Cause, bytes: number][];
  user_bytes: number;
  sources: string[];
}

export type Cause = "wal" | "flush" | "compaction";
