// The data of a trace's page, and its texts.

import { formatThousands, formatSi } from "./format";

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

export const isBlockTrace = (trace: Trace): boolean => trace.header.kind === "blocks";
/** Returns the noun for the trace's keys. */
export const keyNoun = (trace: Trace): string => (isBlockTrace(trace) ? "blocks" : "keys");

export const formatShare = (part: number): string => (part > 0 && part < 0.0005 ? "< 0.1 %" : `${Number((part * 100).toFixed(part < 0.1 ? 1 : 0))} %`);

/** Summarizes a trace: requests, keys, rate, popularity, and the hits of an LRU cache. */
export function summarizeTrace(trace: Trace): string {
  const { popular } = trace;
  const tenth = popular.find((one) => one.keys === 0.1);
  if (!tenth || trace.header.requests === 0) return "There is no request in it.";
  const rate = trace.mean_per_s == null ? "" : `, ${formatSi(trace.mean_per_s)} per second on average`;
  return `${formatThousands(trace.header.requests)} requests of ${formatThousands(trace.distinct)} ${keyNoun(trace)}${rate}. A tenth of the ${keyNoun(trace)} gets ${formatShare(tenth.requests)} of the requests, `
    + `and an LRU cache of as many would have ${formatShare(tenth.lru_hits)} of them.`;
}
