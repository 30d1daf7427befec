// Tables of the bare drive's jobs: rates, costs and I/O latencies.

import type { Metric, RoleRow } from "./data";
import { h } from "./dom";
import { nonEmptyTexts } from "./drawing";
import { formatBytes, formatDuration, formatValue, NONE, formatSi, formatThreeDigits } from "./format";
import { findMetric, metricRange, type Case } from "./model";
import { createStackedTable } from "./table";
import type { View } from "./view";

export function driveTables(view: View): HTMLElement[] {
  const cases = [...view.cases].sort(compareJobs);
  const rows = cases.flatMap((one) => (one.run?.roles ?? []).map((role) => ({ one, role })));
  const executions = [...new Set(view.cases.flatMap((one) => one.run?.job?.executed_as ?? []))];
  return [h("div", { class: "load" },
    h("p", { class: "note" }, `Medians over trials.${view.cases.some((one) => one.group.ceiling) ? " A star: a raw-device ceiling, with which engines are compared." : ""}`),
    createStackedTable({ head: ["job", "I/O", "calls", "block", "depth", "threads", "IOPS", "range", "MB/s", "CPU/op", "CPU", "I/Os/op"], words: 3, rows: rows.map(({ one, role }) => ratesRow(one, role)) }, "What the drive gave"),
    h("p", { class: "note" }, "slat: submission latency; clat: completion latency, from there on; lat: both. Medians of the trials' percentiles."),
    createStackedTable({ head: ["job", "I/O", "time", "threads", "p50", "p95", "p99", "p99.9", "p99.99", "max"], words: 3, rows: rows.flatMap(({ one, role }) => timesRows(one, role)) }, "How long its I/Os took"),
    h("details", { class: "how" }, h("summary", {}, "How this is measured"), ...nonEmptyTexts(
      "I/Os/op: device I/Os per call. Below 1: a cache served some. Above 1: large calls were split, or another process used the drive.",
      "A synchronous call (queue depth 1 per thread) has no slat and no clat.",
      executions.length > 0 ? `Ran as: ${executions.join("; ")}.` : "").map((text) => h("p", { class: "note" }, text))))];
}

/** Orders similar jobs next to each other, by depth and threads: the plan's order is random. */
function compareJobs(a: Case, b: Case): number {
  const [one, other] = [a.run?.job, b.run?.job];
  if (!one || !other) return Number(!one) - Number(!other);
  const compareText = (x: string, y: string) => (x < y ? -1 : Number(x > y));
  return compareText(one.io, other.io) || one.block_bytes - other.block_bytes || compareText(one.method, other.method)
    || one.depth - other.depth || (a.threads ?? 0) - (b.threads ?? 0) || compareText(a.engine.name, b.engine.name);
}

const jobName = (one: Case): string => one.engine.name + (one.group.ceiling ? " *" : "");

function ratesRow(one: Case, role: RoleRow): string[] {
  const job = one.run?.job;
  const rate = findMetric(role.metrics, "ops_per_s"), range = metricRange(rate);
  const phaseMetric = (figure: string) => findMetric(one.run?.metrics, figure);
  const reads = phaseMetric("device_reads_per_op")?.value, writes = phaseMetric("device_writes_per_op")?.value;
  // Counts only the job's own kinds of I/O: others come from other processes.
  const verbs = role.mix.split("+").map((op) => VERBS[op] ?? op);
  const iosPerOp = [...(verbs.includes("read") ? [reads] : []), ...(verbs.includes("write") ? [writes] : [])]
    .reduce<number | null>((sum, part) => (sum == null || part == null ? null : sum + part), 0);
  const formatMetric = (metric: Metric | null) => (metric?.value == null ? NONE : formatValue(metric.value, metric.unit));
  return [
    jobName(one), job?.io ?? NONE, job?.method ?? NONE, formatBytes(job?.block_bytes ?? 0), String(role.depth ?? 1), String(role.threads),
    rate?.value == null ? rate?.missing ?? NONE : formatSi(rate.value), range ? `${formatSi(range[0])} to ${formatSi(range[1])}` : NONE,
    rate?.value == null || !job ? NONE : formatThreeDigits((findMetric(role.metrics, "user_bytes_per_s")?.value || rate.value * job.block_bytes) / 1e6),
    formatMetric(phaseMetric("cpu_ns_per_op")), formatMetric(phaseMetric("cpu_percent")),
    iosPerOp == null ? NONE : iosPerOp.toFixed(2),
  ];
}

const VERBS: Record<string, string> = { get: "read", update: "write", insert: "write" };
const CLOCKS = [["submit", "slat"], ["completion", "clat"], ["service", "lat"]] as const;

function timesRows(one: Case, role: RoleRow): string[][] {
  const parts = role.ops.length > 0 ? role.ops : [{ op: role.mix, metrics: role.metrics }];
  const clocks = CLOCKS.filter(([kind]) => role.depth != null || kind === "service");
  return parts.flatMap(({ op, metrics }) => clocks.map(([kind, label]) => [
    jobName(one), VERBS[op] ?? op, label, String(role.threads),
    ...["p50", "p95", "p99", "p99_9", "p99_99", "max"].map((tail) => {
      const value = findMetric(metrics, `${kind}_ns_${tail}`)?.value;
      return value == null ? NONE : formatDuration(value);
    }),
  ]));
}
