// Latency against threads: a percentile of each role's times, with each trial as a dot.

import { better, control, RANGES, trialsNote, type Drawing, type Figure } from "../drawing";
import { duration, NONE, ownThreads } from "../format";
import { expectedEngines, gapsOf } from "../gaps";
import { metricOf, opsApart, rangeOf, tailOf } from "../model";
import { tailWords } from "../phrases";
import { threadsOf, type View } from "../view";
import { lineChart, pointOf, type LinePanel } from "./lines";

export const latency: Figure = { name: "latency", draw };

const TAILS = [["p50", "p50"], ["p95", "p95"], ["p99", "p99"], ["p99_9", "p99.9"]] as const;

function tailPanel(view: View, role: string, tail: string, op: string | null, title: string): LinePanel {
  return {
    title,
    gaps: gapsOf(expectedEngines(view), view.cases, (one) => one.threads, (one) => tailOf(one, role, tail, op)),
    lines: view.engines.map((engine) => ({
      engine,
      points: view.cases
        .filter((one) => one.engine.id === engine.id && one.threads != null)
        .sort((a, b) => (a.threads ?? 0) - (b.threads ?? 0))
        .flatMap((one) => {
          const metric = tailOf(one, role, tail, op);
          return metric?.value == null || one.threads == null ? [] : [pointOf(one.threads, metric, metric.value)];
        }),
    })).filter((line) => line.points.length > 0),
  };
}

function draw(view: View): Drawing | null {
  const threads = threadsOf(view);
  if (view.work.load || threads.length < 2) return null;
  const there = TAILS.filter(([tail]) => view.work.roles.some((role) => view.cases.some((one) => tailOf(one, role, tail)?.value != null)));
  const tail = control(view, "latency.percentile", "percentile", there.map(([value, label]) => ({ value, label })), "p99");
  const called = TAILS.find(([name]) => name === tail.value)?.[1] ?? "";
  const list = view.work.roles.flatMap((role) => opsApart(view.cases, role).map((op) => tailPanel(view, role, tail.value, op, tailWords(view, role, called, op)))).filter((panel) => panel.lines.length > 0);
  if (list.length === 0) return null;
  return {
    title: `${called} against threads`,
    note: `Time per operation, ${better("lower")}; ${trialsNote(view)}.`,
    how: ["A line joins medians over trials, of each trial's own percentile.", RANGES],
    controls: [tail],
    whiskers: true,
    chart: (width, theme) => lineChart(list, {
      x: { name: "threads", type: "category", format: String, values: threads },
      y: { name: called, type: "log", format: duration },
    }, width, theme),
    table: () => ({
      head: ["engine", "role", "operation", "threads", ...TAILS.flatMap(([, title]) => [title, "range"]), "trials"],
      words: 3,
      rows: view.cases.flatMap((one) => (one.run?.roles ?? []).flatMap((row) => opsApart([one], row.role).map((op) => [
        one.engine.name, row.role, op ?? row.mix, ownThreads(row.threads, one.swept),
        ...TAILS.flatMap(([name]) => {
          const metric = tailOf(one, row.role, name, op), range = rangeOf(metric);
          return [metric?.value == null ? NONE : duration(metric.value), range ? `${duration(range[0])} to ${duration(range[1])}` : NONE];
        }),
        String(metricOf(row.metrics, "ops_per_s")?.n ?? 0),
      ]))),
    }),
  };
}
