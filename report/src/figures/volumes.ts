// Figure: each engine on each volume, such as filesystems or a raw device. It needs a suite with several
// volumes.

import type { Relative } from "../data";
import { formatDirection, createControl, trialsNote, type Drawing, type Figure } from "../drawing";
import { NONE, formatOwnThreads, formatSi } from "../format";
import { barGaps } from "../gaps";
import { findMetric, metricRange, rateMetric, findRole, unique, type Case, type Work } from "../model";
import { roundUp } from "../layout";
import { isFirstChosen, type View } from "../view";
import { barChart, type BarPanel } from "./bars";
import { formatRelative } from "./board";

export const volumes: Figure = { name: "volumes", draw };

/** Returns the rate of a load or of a role. */
const rateFigure = (one: Case, role: string) =>
  one.load ? findMetric(one.load.metrics, "records_per_s") : rateMetric(one, role);

const relativeVolume = (one: Case, role: string) =>
  (one.load ?? one.run?.roles.find((row) => row.role === role))?.relative_volume ?? null;

/** Returns the workloads that differ in their volume alone: of one part of the suite, or of several if each volume has one part. */
export function volumeSiblings(works: Work[], { family, means, rate, part }: Work): Work[] {
  const alike = works.filter((other) => other.family === family && other.means === means && other.rate === rate);
  const isEachOnce = unique(alike.map((other) => other.volume)).length === alike.length;
  return isEachOnce ? alike : alike.filter((other) => other.part === part);
}

/** Formats a ratio, with its base where that is not the first volume: an engine may have none there. */
export const formatRelativeVolume = (relative: Relative | null, first: string | undefined): string =>
  formatRelative(relative) + (relative && relative.base !== first ? ` vs. ${relative.base}` : "");

function draw(view: View): Drawing | null {
  // The figure has all volumes of the workload, and is drawn once, with the first of them.
  const family = volumeSiblings(view.model.works, view.work);
  const volumeNames = unique(family.flatMap((work) => work.volume ?? []));
  if (view.work.drive || volumeNames.length < 2 || !isFirstChosen(view, (work) => family.includes(work))) return null;
  const engineIds = new Set(view.engines.filter((engine) => !engine.loadGenerator).map((engine) => engine.id));
  const cases = view.model.cases.filter((one) => family.includes(one.work) && engineIds.has(one.engine.id));
  const counts = unique(cases.flatMap((one) => one.threads ?? [])).sort((a, b) => a - b);
  const role = createControl(view, "volumes.role", "role", view.work.roles.map((name) => ({ value: name, label: name })), view.work.roles[0] ?? "");
  // The default is the highest number of threads for which the most volumes have figures.
  const measuredCases = (n: number) => cases.filter((one) => one.threads === n && rateFigure(one, role.value)?.value != null);
  const countVolumes = (n: number) => unique(measuredCases(n).map((one) => one.work.volume)).length;
  const bestThreads = counts.reduce((best, n) => (countVolumes(n) >= countVolumes(best) ? n : best), counts[0] ?? 0);
  const threads = createControl(view, "volumes.threads", "threads", counts.map((n) => ({ value: String(n), label: String(n) })), String(bestThreads || ""));
  const chosen = cases.filter((one) => one.threads == null || String(one.threads) === threads.value);
  const end = roundUp(Math.max(1, ...chosen.map((one) => { const metric = rateFigure(one, role.value); return Math.max(metric?.value ?? 0, metricRange(metric)?.[1] ?? 0); })));
  const list: BarPanel[] = volumeNames.map((volume) => ({
    title: volume, format: formatSi, end, ...barGaps(view, chosen.filter((one) => one.work.volume === volume), (one) => rateFigure(one, role.value)),
    bars: chosen.filter((one) => one.work.volume === volume).flatMap((one) => {
      const metric = rateFigure(one, role.value);
      if (metric?.value == null) return [];
      return [{ engine: one.engine, parts: [{ name: role.value, value: metric.value }], range: metricRange(metric), combine: metric.combine }];
    }),
  })).filter((panel) => panel.bars.length > 0);
  if (list.length === 0) return null;
  const noun = view.work.load ? "Records" : "Operations";
  return {
    title: "Each volume",
    note: `${noun}/s of each engine on each volume, ${formatDirection("higher")}; ${trialsNote(view)}.`,
    how: ["An engine that cannot lie on a volume has no bar there."],
    controls: view.work.load ? [] : [threads, role],
    cases: chosen,
    whiskers: true,
    chart: (width, theme) => barChart(list, width, theme),
    table: () => ({
      head: ["engine", "volume", "threads", "role", view.work.load ? "records/s" : "ops/s", "vs. first volume"],
      words: 2,
      rows: cases.flatMap((one) => view.work.roles.map((name) => {
        const value = rateFigure(one, name)?.value;
        return [one.engine.name, one.work.volume ?? NONE, formatOwnThreads(findRole(one, name)?.threads, one.swept), name, value == null ? NONE : formatSi(value), formatRelativeVolume(relativeVolume(one, name), volumeNames[0])];
      })),
    }),
  };
}
