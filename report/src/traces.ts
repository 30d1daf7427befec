// What the page of a trace is given.

export interface TraceData {
  kind: "trace";
  program: string;
  trace: Trace;
  remarks: [word: string, text: string][];
}

export interface Trace {
  header: TraceHeader;
  mix: Record<string, number>;
  mean_per_s: number | null;
  sampled: number;
  distinct: number;
  key_bytes: TraceQuantiles | null;
  written_bytes: TraceQuantiles | null;
  read_bytes: TraceQuantiles | null;
  popular: TracePopular[];
  windows: TraceWindow[];
}

export interface TraceHeader {
  kind: "keys" | "blocks";
  file: string;
  times: "exact" | "spread_over_seconds" | "none";
  requests: number;
  span_ns: number;
  ops: Record<string, number>;
}

export interface TraceQuantiles {
  count: number;
  mean: number;
  min: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

export interface TracePopular {
  keys: number;
  requests: number;
  lru_hits: number;
}

export interface TraceWindow {
  begins: number;
  requests: number;
  writes: number;
  keys: number;
  new_keys: number;
}
