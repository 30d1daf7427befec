// What the page of a trace is given, and its words.

import { grouped, si } from "./format";

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

export const blocks = (trace: Trace): boolean => trace.header.kind === "blocks";
/** What the trace's keys are called. */
export const things = (trace: Trace): string => (blocks(trace) ? "blocks" : "keys");

export const share = (part: number): string => (part > 0 && part < 0.0005 ? "< 0.1 %" : `${Number((part * 100).toFixed(part < 0.1 ? 1 : 0))} %`);

/** What a cache's owner asks first. */
export function sentence(trace: Trace): string {
  const { popular } = trace;
  const tenth = popular.find((one) => one.keys === 0.1);
  if (!tenth || trace.header.requests === 0) return "There is no request in it.";
  const rate = trace.mean_per_s == null ? "" : `, ${si(trace.mean_per_s)} per second on average`;
  return `${grouped(trace.header.requests)} requests of ${grouped(trace.distinct)} ${things(trace)}${rate}. A tenth of the ${things(trace)} gets ${share(tenth.requests)} of the requests, `
    + `and an LRU cache of as many would have ${share(tenth.lru_hits)} of them.`;
}
