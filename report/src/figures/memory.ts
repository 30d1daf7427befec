// Figure: throughput against the ratio of data to RAM. It needs a run with several sizes of either.

import type { Metric } from "../data";
import { formatDirection, createControl, trialsNote, type Drawing, type Figure } from "../drawing";
import { formatBytes, formatDuration, NONE, formatRatio, formatSi } from "../format";
import { expectedEngines, findGaps } from "../gaps";
import { costMetric, roleOps, rateMetric, tailMetric, threadsText, unique, type Case, type Work } from "../model";
import { searchMarks, targetPercentiles, phaseSearch, searchNote } from "../search";
import { isFirstChosen, type View } from "../view";
import { lineChart, metricPoint, axisValues, type LinePanel } from "./lines";

export const memory: Figure = { name: "memory", draw };

/** Returns the ratio of data to RAM; null: no limit, or it was not held. */
const dataToRam = (one: Case): number | null => one.group.ram_limit_held === false ? null :
  costMetric(one, "data_to_ram_asked")?.value
  ?? (one.group.ram_limit_bytes ? one.group.user_bytes / one.group.ram_limit_bytes : null);

function draw(view: View): Drawing | null {
  // The figure has all sizes of the workload, and is drawn once, with the first of them.
  const isSibling = (work: Work) => work.family === view.work.family && work.rate === view.work.rate && work.volume === view.work.volume && work.tier === view.work.tier;
  const family = view.model.works.filter(isSibling);
  if (view.work.load || family.length < 2 || !isFirstChosen(view, isSibling)) return null;
  const engineIds = new Set(view.engines.map((engine) => engine.id));
  const ownFirst = (one: Case) => Number(one.work.part === view.work.part);
  const cases = view.model.cases.filter((one) => isSibling(one.work) && engineIds.has(one.engine.id)).sort((a, b) => ownFirst(b) - ownFirst(a));
  const counts = unique(cases.flatMap((one) => one.threads ?? [])).sort((a, b) => a - b);
  const threads = createControl(view, "memory.threads", "threads", counts.map((n) => ({ value: String(n), label: String(n) })), String(counts.at(-1) ?? ""));
  const chosen = cases.filter((one) => one.threads == null || String(one.threads) === threads.value);
  if (unique(chosen.map(dataToRam).filter((value) => value != null)).length < 2) return null;
  const search = phaseSearch(view.model.data.summary.search, view.work.phase);
  const panelLines = (read: (one: Case) => Metric | null) => ({ gaps: findGaps(expectedEngines(view), chosen, dataToRam, read), lines: view.engines.map((engine) => ({
    engine,
    points: chosen.filter((one) => one.engine.id === engine.id).flatMap((one) => {
      const metric = read(one), x = dataToRam(one);
      return metric?.value == null || x == null ? [] : [metricPoint(x, metric, metric.value)];
    // Several parts may have the same point: the first one is the workload's own.
    }).filter((point, at, all) => all.findIndex((other) => other.x === point.x) === at).sort((a, b) => a.x - b.x),
  })).filter((line) => line.points.length > 0) });
  // The times that the target names come first.
  const tails = targetPercentiles(search).filter(({ role }) => view.work.roles.includes(role));
  const list: LinePanel[] = [
    ...tails.map(({ role, percentile }): LinePanel => ({
      title: `${role}, ${percentile}`, marks: searchMarks(search, role, percentile, roleOps(chosen, role)),
      ...panelLines((one) => tailMetric(one, role, percentile.replace(".", "_"))), y: { name: percentile, type: "log", format: formatDuration },
    })),
    ...view.work.roles.map((role): LinePanel => ({
      title: tails.length > 0 ? `${role}, ops/s` : role, marks: searchMarks(search, role, null, roleOps(chosen, role)), ...panelLines((one) => rateMetric(one, role)),
    })),
  ].filter((panel) => panel.lines.length > 0);
  if (list.length === 0) return null;
  const directions = tails.length > 0 ? `Ops/s: ${formatDirection("higher")}, times: ${formatDirection("lower").replace(" is better", "")}` : `Ops/s, ${formatDirection("higher")}`;
  return {
    title: tails.length > 0 ? "Times and throughput against data over RAM" : "Throughput against data over RAM",
    note: `${directions}; data is keys and values over the RAM limit. ${trialsNote(view)}.${searchNote(search, list.map((panel) => panel.marks))}`,
    controls: [threads],
    cases: chosen,
    whiskers: true,
    chart: (width, theme) => lineChart(list, {
      x: { name: "data over RAM", type: "category", format: (value) => `${formatRatio(value)}×`, values: axisValues(list) },
      y: { name: "ops/s", type: "log", format: formatSi },
    }, width, theme),
    table: () => ({
      head: ["engine", "threads", "data", "RAM limit", "data/RAM", ...tails.map(({ role, percentile }) => `${role} ${percentile}`), ...view.work.roles.map((role) => `${role} ops/s`)],
      rows: cases.map((one) => {
        const dataOverRam = dataToRam(one);
        return [one.engine.name, threadsText(one), formatBytes(one.group.user_bytes),
          one.group.ram_limit_bytes == null ? NONE : formatBytes(one.group.ram_limit_bytes), dataOverRam == null ? NONE : formatRatio(dataOverRam),
          ...tails.map(({ role, percentile }) => { const value = tailMetric(one, role, percentile.replace(".", "_"))?.value; return value == null ? NONE : formatDuration(value); }),
          ...view.work.roles.map((role) => { const value = rateMetric(one, role)?.value; return value == null ? NONE : formatSi(value); })];
      }),
    }),
  };
}
