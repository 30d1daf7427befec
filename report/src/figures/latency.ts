// Latency against threads: a percentile of each role's times, with each trial as a dot.

import { better, control, RANGES, trialsNote, type Drawing, type Figure } from "../drawing";
import { duration, NONE, ownThreads } from "../format";
import { metricOf, rangeOf, roleOf, type Case } from "../model";
import type { Metric } from "../data";
import { threadsOf, type View } from "../view";
import { lineChart, pointOf, type LinePanel } from "./lines";

export const latency: Figure = { name: "latency", draw };

const TAILS = [["p50", "p50"], ["p99", "p99"], ["p99_9", "p99.9"]] as const;

/** From its scheduled start where an operation has one. */
export function tailOf(one: Case, role: string, tail: string): Metric | null {
  const row = roleOf(one, role);
  return metricOf(row?.metrics, `${row?.open_loop ? "response" : "service"}_ns_${tail}`);
}

export function tailPanel(view: View, role: string, tail: string, title: string): LinePanel {
  return {
    title,
    lines: view.engines.map((engine) => ({
      engine,
      points: view.cases
        .filter((one) => one.engine.id === engine.id && one.threads != null)
        .sort((a, b) => (a.threads ?? 0) - (b.threads ?? 0))
        .flatMap((one) => {
          const metric = tailOf(one, role, tail);
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
  const list = view.work.roles.map((role) => tailPanel(view, role, tail.value, `${role}, ${called}`)).filter((panel) => panel.lines.length > 0);
  if (list.length === 0) return null;
  return {
    title: `${called} against threads`,
    note: `Time of an operation, ${better("lower")}; the line is of all trials' samples together, ${RANGES}. ${trialsNote(view)}.`,
    controls: [tail],
    chart: (width, theme) => lineChart(list, {
      x: { name: "threads", type: "category", format: String, values: threads },
      y: { name: called, type: "log", format: duration },
    }, width, theme),
    table: () => ({
      head: ["engine", "role", "threads", ...TAILS.flatMap(([, title]) => [title, "range"]), "trials"],
      words: 2,
      rows: view.cases.flatMap((one) => (one.run?.roles ?? []).map((row) => [
        one.engine.name, row.role, ownThreads(row.threads, one.threads),
        ...TAILS.flatMap(([name]) => {
          const metric = tailOf(one, row.role, name), range = rangeOf(metric);
          return [metric?.value == null ? NONE : duration(metric.value), range ? `${duration(range[0])} to ${duration(range[1])}` : NONE];
        }),
        String(metricOf(row.metrics, "ops_per_s")?.n ?? 0),
      ])),
    }),
  };
}
