// Latency against the rate that was asked for. Shown where a workload has several.

import { better, control, trialsNote, type Drawing, type Figure } from "../drawing";
import { duration, NONE, ownThreads, si } from "../format";
import { expectedEngines, gapsOf, NOT_HERE, type Gap } from "../gaps";
import { engineId, metricOf, opsOf, roleOf, unique, type Case, type Work } from "../model";
import { marksOf, searchAt, searchNote } from "../search";
import type { View } from "../view";
import { lineChart, pointOf, valuesOf, type LinePanel } from "./lines";

export const rate: Figure = { name: "rate", draw };

const TAILS = [["response_ns_p50", "p50"], ["response_ns_p95", "p95"], ["response_ns_p99", "p99"], ["response_ns_p99_9", "p99.9"]] as const;
/** The table alone has p95: its line would lie between two others. */
const DRAWN = TAILS.filter(([, title]) => title !== "p95");

const offered = (one: Case, role: string): number | null =>
  metricOf(roleOf(one, role)?.metrics, "offered_ops_per_s")?.value ?? null;

/** The rate of the suite: a case without figures has it of its workload alone. */
const asked = (one: Case, role: string): number | null => offered(one, role) ?? one.work.rate;

/** A case that left no figure does not say which rate it had: how it ended is the reason. */
function withOutcome(view: View, gap: Gap): Gap {
  const groups = view.model.data.summary.groups.filter((group) => engineId(group) === gap.engine.id && group.runs.some((run) => run.phase === view.work.phase));
  const lost = groups.flatMap((group) => group.trials).find((trial) => !trial.done);
  return gap.why === NOT_HERE && lost ? { ...gap, why: lost.outcome } : gap;
}

function draw(view: View): Drawing | null {
  // All rates of the workload, not this one's alone; drawn once, with the first of them.
  const sibling = (work: Work) => work.family === view.work.family && work.means === view.work.means && work.volume === view.work.volume;
  const works = view.model.works.filter(sibling);
  if (works.length < 2 || works[0]?.id !== view.work.id) return null;
  const engines = new Set(view.engines.map((engine) => engine.id));
  const all = view.model.cases.filter((one) => sibling(one.work) && engines.has(one.engine.id));
  const counts = unique(all.flatMap((one) => one.threads ?? [])).sort((a, b) => a - b);
  const threads = control(view, "rate.threads", "threads", counts.map((n) => ({ value: String(n), label: String(n) })), String(counts.at(-1) ?? ""));
  const cases = all.filter((one) => one.threads == null || String(one.threads) === threads.value);
  const roles = view.work.roles.filter((role) => unique(cases.map((one) => offered(one, role)).filter((value) => value != null)).length > 1);
  if (roles.length === 0) return null;
  const search = searchAt(view.model.data.summary.search, view.work.phase);
  const list: LinePanel[] = roles.flatMap((role) => DRAWN.map(([name, title]) => ({
    title: `${role}, ${title} of the response time`,
    marks: marksOf(search, role, title, opsOf(cases, role)),
    gaps: gapsOf(expectedEngines(view), cases, (one) => asked(one, role), (one) => metricOf(roleOf(one, role)?.metrics, name)).map((gap) => withOutcome(view, gap)),
    lines: view.engines.map((engine) => ({
      engine,
      points: cases.filter((one) => one.engine.id === engine.id).flatMap((one) => {
        const metric = metricOf(roleOf(one, role)?.metrics, name), x = offered(one, role);
        return metric?.value == null || x == null ? [] : [pointOf(x, metric, metric.value)];
      }).sort((a, b) => a.x - b.x),
    })).filter((line) => line.points.length > 0),
  }))).filter((panel) => panel.lines.length > 0);
  if (list.length === 0) return null;
  return {
    title: "Latency against offered rate",
    note: `Time from an operation's scheduled start to its end, ${better("lower")}; ${trialsNote(view)}, each a dot.${searchNote(search, list.map((panel) => panel.marks))}`,
    controls: [threads],
    cases,
    whiskers: true,
    chart: (width, theme) => lineChart(list, {
      x: { name: "offered rate, ops/s", type: "category", format: si, values: valuesOf(list) },
      y: { name: "response time", type: "log", format: duration },
    }, width, theme),
    table: () => ({
      head: ["engine", "role", "threads", "offered/s", "achieved/s", ...TAILS.map(([, title]) => title)],
      words: 2,
      rows: all.flatMap((one) => roles.map((role) => {
        const metrics = roleOf(one, role)?.metrics;
        const show = (name: string, format: (value: number) => string) => {
          const value = metricOf(metrics, name)?.value;
          return value == null ? NONE : format(value);
        };
        return [one.engine.name, role, ownThreads(roleOf(one, role)?.threads, one.swept), show("offered_ops_per_s", si), show("ops_per_s", si), ...TAILS.map(([name]) => show(name, duration))];
      })),
    }),
  };
}
