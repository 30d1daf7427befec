// Figure 9: latency against the rate that was asked for. Shown where a workload has several.

import { better, trialsNote, type Drawing, type Figure } from "../drawing";
import { duration, NONE, si } from "../format";
import { metricOf, rangeOf, roleOf, unique, type Case } from "../model";
import type { View } from "../view";
import { lineChart, type LinePanel } from "./lines";
import { atThreads, threadsControl } from "./choices";

export const rate: Figure = { number: 9, name: "rate", draw };

const TAILS = [["response_ns_p50", "p50"], ["response_ns_p99", "p99"], ["response_ns_p99_9", "p99.9"]] as const;

const offered = (one: Case, role: string): number | null =>
  metricOf(roleOf(one, role)?.metrics, "offered_ops_per_s")?.value ?? null;

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "9");
  const cases = atThreads(view, threads).filter((one) => !one.engine.harness);
  const roles = view.work.roles.filter((role) => unique(cases.map((one) => offered(one, role)).filter((value) => value != null)).length > 1);
  if (roles.length === 0) return null;
  const list: LinePanel[] = roles.flatMap((role) => TAILS.map(([name, title]) => ({
    title: `${role}, ${title} of the response time`,
    lines: view.engines.map((engine) => ({
      engine,
      points: cases.filter((one) => one.engine.id === engine.id).flatMap((one) => {
        const metric = metricOf(roleOf(one, role)?.metrics, name), x = offered(one, role);
        return metric?.value == null || x == null ? [] : [{ x, y: metric.value, range: rangeOf(metric), detail: `${metric.n} trials` }];
      }).sort((a, b) => a.x - b.x),
    })).filter((line) => line.points.length > 0),
  }))).filter((panel) => panel.lines.length > 0);
  if (list.length === 0) return null;
  return {
    title: "Latency against offered rate",
    note: `Time from an operation's scheduled start to its end, ${better("lower")}; ${trialsNote(view)}.`,
    controls: [threads],
    chart: (width, theme) => lineChart(list, {
      x: { name: "offered operations a second", type: "log", format: si },
      y: { name: "response time", type: "log", format: duration },
    }, width, theme),
    table: () => ({
      head: ["engine", "role", "threads", "offered/s", "done/s", ...TAILS.map(([, title]) => title)],
      words: 2,
      rows: view.cases.flatMap((one) => roles.map((role) => {
        const metrics = roleOf(one, role)?.metrics;
        const show = (name: string, format: (value: number) => string) => {
          const value = metricOf(metrics, name)?.value;
          return value == null ? NONE : format(value);
        };
        return [one.engine.name, role, String(one.threads ?? NONE), show("offered_ops_per_s", si), show("ops_per_s", si), ...TAILS.map(([name]) => show(name, duration))];
      })),
    }),
  };
}
