// Throughput against how much larger than its RAM the data is. Shown where a run has
// several sizes of either.

import type { Metric } from "../data";
import { better, control, trialsNote, type Drawing, type Figure } from "../drawing";
import { bytes, duration, NONE, ratio, si } from "../format";
import { expectedEngines, gapsOf } from "../gaps";
import { costOf, opsOf, rateOf, tailOf, threadsText, unique, type Case, type Work } from "../model";
import { marksOf, percentilesOf, searchAt, searchNote } from "../search";
import type { View } from "../view";
import { lineChart, pointOf, valuesOf, type LinePanel } from "./lines";

export const memory: Figure = { name: "memory", draw };

/** Of a limit that was not held nothing is known. */
const dataToRam = (one: Case): number | null => one.group.ram_limit_held === false ? null :
  costOf(one, "data_to_ram_asked")?.value
  ?? (one.group.ram_limit_bytes ? one.group.user_bytes / one.group.ram_limit_bytes : null);

function draw(view: View): Drawing | null {
  // All sizes of the workload, not this one's alone; drawn once, with the first of them.
  const sibling = (work: Work) => work.family === view.work.family && work.rate === view.work.rate && work.volume === view.work.volume && work.tier === view.work.tier;
  const family = view.model.works.filter(sibling);
  if (view.work.load || family.length < 2 || family[0]?.id !== view.work.id) return null;
  const names = new Set(view.engines.map((engine) => engine.id));
  const isOwn = (one: Case) => Number(one.work.part === view.work.part);
  const cases = view.model.cases.filter((one) => sibling(one.work) && names.has(one.engine.id)).sort((a, b) => isOwn(b) - isOwn(a));
  const counts = unique(cases.flatMap((one) => one.threads ?? [])).sort((a, b) => a - b);
  const threads = control(view, "memory.threads", "threads", counts.map((n) => ({ value: String(n), label: String(n) })), String(counts.at(-1) ?? ""));
  const chosen = cases.filter((one) => one.threads == null || String(one.threads) === threads.value);
  if (unique(chosen.map(dataToRam).filter((value) => value != null)).length < 2) return null;
  const search = searchAt(view.model.data.summary.search, view.work.phase);
  const linesOf = (read: (one: Case) => Metric | null) => ({ gaps: gapsOf(expectedEngines(view), chosen, dataToRam, read), lines: view.engines.map((engine) => ({
    engine,
    points: chosen.filter((one) => one.engine.id === engine.id).flatMap((one) => {
      const metric = read(one), x = dataToRam(one);
      return metric?.value == null || x == null ? [] : [pointOf(x, metric, metric.value)];
    // Several parts may have the same: the first of them, which is the workload's own.
    }).filter((point, at, all) => all.findIndex((other) => other.x === point.x) === at).sort((a, b) => a.x - b.x),
  })).filter((line) => line.points.length > 0) });
  // What a target is about comes first: the times that it names.
  const tails = percentilesOf(search).filter(({ role }) => view.work.roles.includes(role));
  const list: LinePanel[] = [
    ...tails.map(({ role, percentile }): LinePanel => ({
      title: `${role}, ${percentile}`, marks: marksOf(search, role, percentile, opsOf(chosen, role)),
      ...linesOf((one) => tailOf(one, role, percentile.replace(".", "_"))), y: { name: percentile, type: "log", format: duration },
    })),
    ...view.work.roles.map((role): LinePanel => ({
      title: tails.length > 0 ? `${role}, ops/s` : role, marks: marksOf(search, role, null, opsOf(chosen, role)), ...linesOf((one) => rateOf(one, role)),
    })),
  ].filter((panel) => panel.lines.length > 0);
  if (list.length === 0) return null;
  const what = tails.length > 0 ? `Ops/s: ${better("higher")}, times: ${better("lower").replace(" is better", "")}` : `Ops/s, ${better("higher")}`;
  return {
    title: tails.length > 0 ? "Times and throughput against data over RAM" : "Throughput against data over RAM",
    note: `${what}; data is keys and values over the RAM limit. ${trialsNote(view)}.${searchNote(search, list.map((panel) => panel.marks))}`,
    controls: [threads],
    cases: chosen,
    whiskers: true,
    chart: (width, theme) => lineChart(list, {
      x: { name: "data over RAM", type: "category", format: (value) => `${ratio(value)}×`, values: valuesOf(list) },
      y: { name: "ops/s", type: "log", format: si },
    }, width, theme),
    table: () => ({
      head: ["engine", "threads", "data", "RAM limit", "data/RAM", ...tails.map(({ role, percentile }) => `${role} ${percentile}`), ...view.work.roles.map((role) => `${role} ops/s`)],
      rows: cases.map((one) => {
        const over = dataToRam(one);
        return [one.engine.name, threadsText(one), bytes(one.group.user_bytes),
          one.group.ram_limit_bytes == null ? NONE : bytes(one.group.ram_limit_bytes), over == null ? NONE : ratio(over),
          ...tails.map(({ role, percentile }) => { const value = tailOf(one, role, percentile.replace(".", "_"))?.value; return value == null ? NONE : duration(value); }),
          ...view.work.roles.map((role) => { const value = rateOf(one, role)?.value; return value == null ? NONE : si(value); })];
      }),
    }),
  };
}
