// Figure: an engine over its versions, with the steps that changed a figure significantly. It is drawn
// once, with the first workload of the engines.

import { createControl, type Drawing, type Figure } from "../drawing";
import { formatBytes, formatDuration, formatValue, NONE, formatRatio, formatSi } from "../format";
import { engineId, unique } from "../model";
import type { History, HistoryStep, VersionSeries } from "../versions";
import { isFirstChosen, type View } from "../view";
import { barChart, type BarPanel } from "./bars";

export const history: Figure = { name: "history", draw };

/** Rates, which are shown first; a load has its own. */
const RATES = ["ops_per_s", "records_per_s"];

/** Explains how a step is judged: trial by trial, like two engines of a run. */
const STEPS = "A change counts where the interval of its ratio leaves 1 out: 99 %, by Student's t of the logarithms of the ratios of trials, pair by pair.";

const formats: Record<string, (value: number) => string> = { "1/s": formatSi, ns: formatDuration, B: formatBytes };
const seriesScope = (series: VersionSeries) => unique([series.phase, series.role ?? "", series.case].filter((word) => word !== "")).join(" ");
const isChange = (step: HistoryStep | null | undefined) => step != null && ["improved", "regressed", "changed"].includes(step.verdict);

/** Formats a significant change from the version before, as the word after a bar. */
export function formatStep(step: HistoryStep | null | undefined): string | undefined {
  if (step?.ratio == null || !isChange(step)) return undefined;
  const percent = Math.round(100 * (step.ratio - 1));
  return `${percent > 0 ? "+" : ""}${percent}%`;
}

function versionsPanel(view: View, one: History, series: VersionSeries): BarPanel {
  const bars = one.versions.flatMap((version, at): BarPanel["bars"] => {
    const info = view.model.data.summary.engines.find((info) => info.label === version.label);
    const engine = info && view.model.engines.find((engine) => engine.id === engineId(info));
    const value = series.values[at];
    if (engine == null || value?.value == null) return [];
    const range: [number, number] | null = value.min != null && value.max != null ? [value.min, value.max] : null;
    const word = at > 0 ? formatStep(series.steps[at - 1]) : undefined;
    return [{ engine, parts: [{ name: series.figure, value: value.value }], range, combine: "median", ...(word == null ? {} : { word }) }];
  });
  return { title: seriesScope(series), bars, format: formats[series.unit] ?? formatSi, binary: series.unit === "B" };
}

function draw(view: View): Drawing | null {
  const histories = view.model.data.summary.history ?? [];
  if (histories.length === 0 || !isFirstChosen(view, (work) => !work.drive)) return null;
  const names = unique(histories.flatMap((one) => one.figures.map((series) => (RATES.includes(series.figure) ? "rate" : series.figure))));
  const figure = createControl(view, "history.figure", "figure", names.map((name) => ({ value: name, label: name })), "rate");
  const isShown = (series: VersionSeries) => (figure.value === "rate" ? RATES.includes(series.figure) : series.figure === figure.value);
  const list = histories.flatMap((one) => one.figures.filter(isShown).map((series) => versionsPanel(view, one, series))).filter((one) => one.bars.length > 0);
  if (list.length === 0) return null;
  return {
    title: "Versions: what each step changed",
    note: "Median of each version, with the range of its trials; a percentage is a significant change from the version before.",
    how: [STEPS],
    controls: [figure],
    chart: (width, theme) => barChart(list, width, theme),
    table: () => ({
      head: ["phase and role", "figure", "version", "median", "vs. the version before", "interval", "verdict"],
      words: 3,
      rows: histories.flatMap((one) => one.figures.flatMap((series) => one.versions.map((version, at) => tableRow(series, version.version, at)))),
    }),
  };
}

function tableRow(series: VersionSeries, version: string, at: number): string[] {
  const step = at > 0 ? series.steps[at - 1] : null, value = series.values[at]?.value;
  const interval = step?.ratio_low == null || step.ratio_high == null ? NONE : `${formatRatio(step.ratio_low)} to ${formatRatio(step.ratio_high)}`;
  return [
    seriesScope(series), series.figure, version, value == null ? NONE : formatValue(value, series.unit),
    step?.ratio == null ? NONE : formatRatio(step.ratio), interval, step == null ? NONE : step.verdict.replaceAll("_", " "),
  ];
}
