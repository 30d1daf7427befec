// Each engine on each volume: what the filesystem, or its absence, makes of it. Shown
// where a suite names several volumes.

import { better, control, trialsNote, type Drawing, type Figure } from "../drawing";
import { NONE, ownThreads, si } from "../format";
import { barGaps } from "../gaps";
import { metricOf, rangeOf, rateOf, roleOf, unique, type Case, type Work } from "../model";
import type { View } from "../view";
import { barChart, type BarPanel } from "./bars";
import { relativeToBase } from "./board";

export const volumes: Figure = { name: "volumes", draw };

/** The rate of a load, or of a role. */
const figure = (one: Case, role: string) =>
  one.load ? metricOf(one.load.metrics, "records_per_s") : rateOf(one, role);

const beside = (one: Case, role: string) =>
  (one.load ?? one.run?.roles.find((row) => row.role === role))?.relative_volume ?? null;

/** To one, two, four, six or ten times a power of ten. */
function roundUp(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 4, 6, 10].find((n) => n * power >= most) ?? 10) * power;
}

function draw(view: View): Drawing | null {
  // All volumes of the workload, not this one's alone; drawn once, with the first of them.
  const sibling = (work: Work) =>
    work.family === view.work.family && work.means === view.work.means && work.rate === view.work.rate;
  const family = view.model.works.filter(sibling);
  const named = unique(family.flatMap((work) => work.volume ?? []));
  if (view.work.drive || named.length < 2 || family[0]?.id !== view.work.id) return null;
  const names = new Set(view.engines.filter((engine) => !engine.loadGenerator).map((engine) => engine.id));
  const cases = view.model.cases.filter((one) => sibling(one.work) && names.has(one.engine.id));
  const counts = unique(cases.flatMap((one) => one.threads ?? [])).sort((a, b) => a - b);
  const role = control(view, "volumes.role", "role", view.work.roles.map((name) => ({ value: name, label: name })), view.work.roles[0] ?? "");
  // The most threads that the most volumes have figures for.
  const figures = (n: number) => cases.filter((one) => one.threads === n && figure(one, role.value)?.value != null);
  const reached = (n: number) => unique(figures(n).map((one) => one.work.volume)).length;
  const most = counts.reduce((best, n) => (reached(n) >= reached(best) ? n : best), counts[0] ?? 0);
  const threads = control(view, "volumes.threads", "threads", counts.map((n) => ({ value: String(n), label: String(n) })), String(most || ""));
  const chosen = cases.filter((one) => one.threads == null || String(one.threads) === threads.value);
  const end = roundUp(Math.max(1, ...chosen.map((one) => { const metric = figure(one, role.value); return Math.max(metric?.value ?? 0, rangeOf(metric)?.[1] ?? 0); })));
  const list: BarPanel[] = named.map((volume) => ({
    title: volume, format: si, end, ...barGaps(view, chosen.filter((one) => one.work.volume === volume), (one) => figure(one, role.value)),
    bars: chosen.filter((one) => one.work.volume === volume).flatMap((one) => {
      const metric = figure(one, role.value);
      if (metric?.value == null) return [];
      return [{ engine: one.engine, parts: [{ name: role.value, value: metric.value }], range: rangeOf(metric), combine: metric.combine }];
    }),
  })).filter((panel) => panel.bars.length > 0);
  if (list.length === 0) return null;
  const what = view.work.load ? "Records" : "Operations";
  return {
    title: "Each volume",
    note: `${what}/s of each engine on each volume, ${better("higher")}; ${trialsNote(view)}.`,
    how: ["An engine that cannot lie on a volume has no bar there."],
    controls: view.work.load ? [] : [threads, role],
    cases: chosen,
    whiskers: true,
    chart: (width, theme) => barChart(list, width, theme),
    table: () => ({
      head: ["engine", "volume", "threads", "role", view.work.load ? "records/s" : "ops/s", `vs. ${named[0]}`],
      words: 2,
      rows: cases.flatMap((one) => view.work.roles.map((name) => {
        const value = figure(one, name)?.value;
        return [one.engine.name, one.work.volume ?? NONE, ownThreads(roleOf(one, name)?.threads, one.swept), name, value == null ? NONE : si(value), relativeToBase(beside(one, name))];
      })),
    }),
  };
}
