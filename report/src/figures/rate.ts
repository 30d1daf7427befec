// Figure: latency against the offered rate. It needs a workload with several rates.

import { formatDirection, createControl, trialsNote, type Drawing, type Figure } from "../drawing";
import { formatDuration, NONE, formatOwnThreads, formatSi } from "../format";
import { expectedEngines, findGaps, NOT_HERE, type Gap } from "../gaps";
import { engineId, findMetric, roleOps, findRole, unique, type Case, type Work } from "../model";
import { searchMarks, phaseSearch, searchNote } from "../search";
import { isFirstChosen, type View } from "../view";
import { lineChart, metricPoint, axisValues, type LinePanel } from "./lines";

export const rate: Figure = { name: "rate", draw };

const TAILS = [["response_ns_p50", "p50"], ["response_ns_p95", "p95"], ["response_ns_p99", "p99"], ["response_ns_p99_9", "p99.9"]] as const;
/** The drawn percentiles. p95 is in the table only: its line would be between two others. */
const DRAWN = TAILS.filter(([, title]) => title !== "p95");

const offeredRate = (one: Case, role: string): number | null =>
  findMetric(findRole(one, role)?.metrics, "offered_ops_per_s")?.value ?? null;

/** Returns the suite's rate: a case without figures has it from its workload. */
const suiteRate = (one: Case, role: string): number | null => offeredRate(one, role) ?? one.work.rate;

/** Replaces the reason of a case without figures, whose rate is unknown, by its outcome. */
function withOutcome(view: View, gap: Gap): Gap {
  const groups = view.model.data.summary.groups.filter((group) => engineId(group) === gap.engine.id && group.runs.some((run) => run.phase === view.work.phase));
  const lost = groups.flatMap((group) => group.trials).find((trial) => !trial.done);
  return gap.why === NOT_HERE && lost ? { ...gap, why: lost.outcome } : gap;
}

function draw(view: View): Drawing | null {
  // The figure has all rates of the workload, and is drawn once, with the first of them.
  const isSibling = (work: Work) => work.family === view.work.family && work.means === view.work.means && work.volume === view.work.volume && work.part === view.work.part;
  const works = view.model.works.filter(isSibling);
  if (works.length < 2 || !isFirstChosen(view, isSibling)) return null;
  const engines = new Set(view.engines.map((engine) => engine.id));
  const all = view.model.cases.filter((one) => isSibling(one.work) && engines.has(one.engine.id));
  const counts = unique(all.flatMap((one) => one.threads ?? [])).sort((a, b) => a - b);
  const threads = createControl(view, "rate.threads", "threads", counts.map((n) => ({ value: String(n), label: String(n) })), String(counts.at(-1) ?? ""));
  const cases = all.filter((one) => one.threads == null || String(one.threads) === threads.value);
  const roles = view.work.roles.filter((role) => unique(cases.map((one) => offeredRate(one, role)).filter((value) => value != null)).length > 1);
  if (roles.length === 0) return null;
  const search = phaseSearch(view.model.data.summary.search, view.work.phase);
  const list: LinePanel[] = roles.flatMap((role) => DRAWN.map(([name, title]) => ({
    title: `${role}, ${title} of the response time`,
    marks: searchMarks(search, role, title, roleOps(cases, role)),
    gaps: findGaps(expectedEngines(view), cases, (one) => suiteRate(one, role), (one) => findMetric(findRole(one, role)?.metrics, name)).map((gap) => withOutcome(view, gap)),
    lines: view.engines.map((engine) => ({
      engine,
      points: cases.filter((one) => one.engine.id === engine.id).flatMap((one) => {
        const metric = findMetric(findRole(one, role)?.metrics, name), x = offeredRate(one, role);
        return metric?.value == null || x == null ? [] : [metricPoint(x, metric, metric.value)];
      }).sort((a, b) => a.x - b.x),
    })).filter((line) => line.points.length > 0),
  }))).filter((panel) => panel.lines.length > 0);
  if (list.length === 0) return null;
  return {
    title: "Latency against offered rate",
    note: `Time from an operation's scheduled start to its end, ${formatDirection("lower")}; ${trialsNote(view)}, each a dot.${searchNote(search, list.map((panel) => panel.marks))}`,
    controls: [threads],
    cases,
    whiskers: true,
    chart: (width, theme) => lineChart(list, {
      x: { name: "offered rate, ops/s", type: "category", format: formatSi, values: axisValues(list) },
      y: { name: "response time", type: "log", format: formatDuration },
    }, width, theme),
    table: () => ({
      head: ["engine", "role", "threads", "offered/s", "achieved/s", ...TAILS.map(([, title]) => title)],
      words: 2,
      rows: all.flatMap((one) => roles.map((role) => {
        const metrics = findRole(one, role)?.metrics;
        const formatFigure = (name: string, format: (value: number) => string) => {
          const value = findMetric(metrics, name)?.value;
          return value == null ? NONE : format(value);
        };
        return [one.engine.name, role, formatOwnThreads(findRole(one, role)?.threads, one.swept), formatFigure("offered_ops_per_s", formatSi), formatFigure("ops_per_s", formatSi), ...TAILS.map(([name]) => formatFigure(name, formatDuration))];
      })),
    }),
  };
}
