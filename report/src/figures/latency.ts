// Figure: latency against threads, a percentile of each role's times, with a dot per trial.

import { formatDirection, createControl, RANGES, trialsNote, type Drawing, type Figure } from "../drawing";
import { formatDuration, NONE, formatOwnThreads } from "../format";
import { expectedEngines, findGaps } from "../gaps";
import { findMetric, latencyOps, metricRange, tailMetric } from "../model";
import { tailLabel } from "../phrases";
import { threadCounts, type View } from "../view";
import { lineChart, metricPoint, type LinePanel } from "./lines";

export const latency: Figure = { name: "latency", draw };

const TAILS = [["p50", "p50"], ["p95", "p95"], ["p99", "p99"], ["p99_9", "p99.9"]] as const;

function tailPanel(view: View, role: string, tail: string, op: string | null, title: string): LinePanel {
  return {
    title,
    gaps: findGaps(expectedEngines(view), view.cases, (one) => one.threads, (one) => tailMetric(one, role, tail, op)),
    lines: view.engines.map((engine) => ({
      engine,
      points: view.cases
        .filter((one) => one.engine.id === engine.id && one.threads != null)
        .sort((a, b) => (a.threads ?? 0) - (b.threads ?? 0))
        .flatMap((one) => {
          const metric = tailMetric(one, role, tail, op);
          return metric?.value == null || one.threads == null ? [] : [metricPoint(one.threads, metric, metric.value)];
        }),
    })).filter((line) => line.points.length > 0),
  };
}

function draw(view: View): Drawing | null {
  const threads = threadCounts(view);
  if (view.work.load || threads.length < 2) return null;
  const measuredTails = TAILS.filter(([tail]) => view.work.roles.some((role) => view.cases.some((one) => tailMetric(one, role, tail)?.value != null)));
  const tail = createControl(view, "latency.percentile", "percentile", measuredTails.map(([value, label]) => ({ value, label })), "p99");
  const tailName = TAILS.find(([name]) => name === tail.value)?.[1] ?? "";
  const list = view.work.roles.flatMap((role) => latencyOps(view.cases, role).map((op) => tailPanel(view, role, tail.value, op, tailLabel(view, role, tailName, op)))).filter((panel) => panel.lines.length > 0);
  if (list.length === 0) return null;
  return {
    title: `${tailName} against threads`,
    note: `Time per operation, ${formatDirection("lower")}; ${trialsNote(view)}.`,
    how: ["A line joins medians over trials, of each trial's own percentile.", RANGES],
    controls: [tail],
    whiskers: true,
    chart: (width, theme) => lineChart(list, {
      x: { name: "threads", type: "category", format: String, values: threads },
      y: { name: tailName, type: "log", format: formatDuration },
    }, width, theme),
    table: () => ({
      head: ["engine", "role", "operation", "threads", ...TAILS.flatMap(([, title]) => [title, "range"]), "trials"],
      words: 3,
      rows: view.cases.flatMap((one) => (one.run?.roles ?? []).flatMap((row) => latencyOps([one], row.role).map((op) => [
        one.engine.name, row.role, op ?? row.mix, formatOwnThreads(row.threads, one.swept),
        ...TAILS.flatMap(([name]) => {
          const metric = tailMetric(one, row.role, name, op), range = metricRange(metric);
          return [metric?.value == null ? NONE : formatDuration(metric.value), range ? `${formatDuration(range[0])} to ${formatDuration(range[1])}` : NONE];
        }),
        String(findMetric(row.metrics, "ops_per_s")?.n ?? 0),
      ]))),
    }),
  };
}
