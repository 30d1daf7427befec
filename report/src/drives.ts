// The bare drive's jobs in numbers: what each gave and cost, and how long its I/Os took.

import type { Metric, RoleRow } from "./data";
import { h } from "./dom";
import { paragraphs } from "./drawing";
import { bytes, duration, inUnit, NONE, si, three } from "./format";
import { metricOf, rangeOf, type Case } from "./model";
import { stacked } from "./table";
import type { View } from "./view";

export function driveTables(view: View): HTMLElement[] {
  const cases = [...view.cases].sort(inOrder);
  const rows = cases.flatMap((one) => (one.run?.roles ?? []).map((role) => ({ one, role })));
  const executed = [...new Set(view.cases.flatMap((one) => one.run?.job?.executed_as ?? []))];
  return [h("div", { class: "load" },
    h("p", { class: "note" }, `Medians over trials.${view.cases.some((one) => one.group.ceiling) ? " A star: a raw-device ceiling, with which engines are compared." : ""}`),
    stacked({ head: ["job", "I/O", "calls", "block", "depth", "threads", "IOPS", "range", "MB/s", "CPU/op", "CPU", "I/Os/op"], words: 3, rows: rows.map(({ one, role }) => rates(one, role)) }, "What the drive gave"),
    h("p", { class: "note" }, "slat: submission latency; clat: completion latency, from there on; lat: both. Medians of the trials' percentiles."),
    stacked({ head: ["job", "I/O", "time", "threads", "p50", "p95", "p99", "p99.9", "p99.99", "max"], words: 3, rows: rows.flatMap(({ one, role }) => times(one, role)) }, "How long its I/Os took"),
    h("details", { class: "how" }, h("summary", {}, "How this is measured"), ...paragraphs(
      "I/Os/op: device I/Os per call. Below 1: a cache served some. Above 1: large calls were split, or another process used the drive.",
      "A synchronous call (queue depth 1 per thread) has no slat and no clat.",
      executed.length > 0 ? `Ran as: ${executed.join("; ")}.` : "").map((text) => h("p", { class: "note" }, text))))];
}

/** Like beside like, by depth and threads: the plan's order is drawn at random. */
function inOrder(a: Case, b: Case): number {
  const [one, other] = [a.run?.job, b.run?.job];
  if (!one || !other) return Number(!one) - Number(!other);
  const text = (x: string, y: string) => (x < y ? -1 : Number(x > y));
  return text(one.io, other.io) || one.block_bytes - other.block_bytes || text(one.method, other.method)
    || one.depth - other.depth || (a.threads ?? 0) - (b.threads ?? 0) || text(a.engine.name, b.engine.name);
}

const name = (one: Case): string => one.engine.name + (one.group.ceiling ? " *" : "");

function rates(one: Case, role: RoleRow): string[] {
  const job = one.run?.job;
  const rate = metricOf(role.metrics, "ops_per_s"), range = rangeOf(rate);
  const cost = (figure: string) => metricOf(one.run?.metrics, figure);
  const reads = cost("device_reads_per_op")?.value, writes = cost("device_writes_per_op")?.value;
  // Of the kinds that the job makes; others at the drive are not its own.
  const does = role.mix.split("+").map((op) => VERBS[op] ?? op);
  const each = [...(does.includes("read") ? [reads] : []), ...(does.includes("write") ? [writes] : [])]
    .reduce<number | null>((sum, part) => (sum == null || part == null ? null : sum + part), 0);
  const said = (metric: Metric | null) => (metric?.value == null ? NONE : inUnit(metric.value, metric.unit));
  return [
    name(one), job?.io ?? NONE, job?.method ?? NONE, bytes(job?.block_bytes ?? 0), String(role.depth ?? 1), String(role.threads),
    rate?.value == null ? rate?.missing ?? NONE : si(rate.value), range ? `${si(range[0])} to ${si(range[1])}` : NONE,
    rate?.value == null || !job ? NONE : three((metricOf(role.metrics, "user_bytes_per_s")?.value || rate.value * job.block_bytes) / 1e6),
    said(cost("cpu_ns_per_op")), said(cost("cpu_percent")),
    each == null ? NONE : each.toFixed(2),
  ];
}

const VERBS: Record<string, string> = { get: "read", update: "write", insert: "write" };
const CLOCKS = [["submit", "slat"], ["completion", "clat"], ["service", "lat"]] as const;

function times(one: Case, role: RoleRow): string[][] {
  const parts = role.ops.length > 0 ? role.ops : [{ op: role.mix, metrics: role.metrics }];
  const clocks = CLOCKS.filter(([kind]) => role.depth != null || kind === "service");
  return parts.flatMap(({ op, metrics }) => clocks.map(([kind, called]) => [
    name(one), VERBS[op] ?? op, called, String(role.threads),
    ...["p50", "p95", "p99", "p99_9", "p99_99", "max"].map((tail) => {
      const value = metricOf(metrics, `${kind}_ns_${tail}`)?.value;
      return value == null ? NONE : duration(value);
    }),
  ]));
}
