// One engine over its versions: a figure of each, and which step from one to the next changed it by
// enough to be sure. Drawn once, with the first workload of the engines.

import { control, type Drawing, type Figure } from "../drawing";
import { bytes, duration, inUnit, NONE, ratio, si } from "../format";
import { unique } from "../model";
import type { History, HistoryStep, VersionSeries } from "../versions";
import type { View } from "../view";
import { barChart, type BarPanel } from "./bars";

export const history: Figure = { name: "history", draw };

/** What most ask for first; a load has its own rate. */
const RATES = ["ops_per_s", "records_per_s"];

/** How a step is judged: trial by trial, as two engines of a run are. */
const STEPS = "A change counts where the interval of its ratio leaves 1 out: 99 %, by Student's t of the logarithms of the ratios of trials, pair by pair.";

const formats: Record<string, (value: number) => string> = { "1/s": si, ns: duration, B: bytes };
const scopeOf = (series: VersionSeries) => unique([series.phase, series.role ?? "", series.case].filter((word) => word !== "")).join(" ");
const isChange = (step: HistoryStep | null | undefined) => step != null && ["improved", "regressed", "changed"].includes(step.verdict);

/** Behind a bar: by how much its version differs from the one before, where that is sure. */
export function mark(step: HistoryStep | null | undefined): string | undefined {
  if (step?.ratio == null || !isChange(step)) return undefined;
  const percent = Math.round(100 * (step.ratio - 1));
  return `${percent > 0 ? "+" : ""}${percent}%`;
}

function panel(view: View, one: History, series: VersionSeries): BarPanel {
  const bars = one.versions.flatMap((version, at): BarPanel["bars"] => {
    const engine = view.model.engines.find((known) => known.id.startsWith(`${version.label}/`));
    const value = series.values[at];
    if (engine == null || value?.value == null) return [];
    const range: [number, number] | null = value.min != null && value.max != null ? [value.min, value.max] : null;
    const word = at > 0 ? mark(series.steps[at - 1]) : undefined;
    return [{ engine, parts: [{ name: series.figure, value: value.value }], range, combine: "median", ...(word == null ? {} : { word }) }];
  });
  return { title: scopeOf(series), bars, format: formats[series.unit] ?? si, binary: series.unit === "B" };
}

function draw(view: View): Drawing | null {
  const histories = view.model.data.summary.history ?? [];
  const first = view.model.works.find((work) => !work.drive);
  if (histories.length === 0 || first?.id !== view.work.id) return null;
  const names = unique(histories.flatMap((one) => one.figures.map((series) => (RATES.includes(series.figure) ? "rate" : series.figure))));
  const figure = control(view, "history.figure", "figure", names.map((name) => ({ value: name, label: name })), "rate");
  const shown = (series: VersionSeries) => (figure.value === "rate" ? RATES.includes(series.figure) : series.figure === figure.value);
  const list = histories.flatMap((one) => one.figures.filter(shown).map((series) => panel(view, one, series))).filter((one) => one.bars.length > 0);
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
      rows: histories.flatMap((one) => one.figures.flatMap((series) => one.versions.map((version, at) => row(series, version.version, at)))),
    }),
  };
}

function row(series: VersionSeries, version: string, at: number): string[] {
  const step = at > 0 ? series.steps[at - 1] : null, value = series.values[at]?.value;
  const interval = step?.ratio_low == null || step.ratio_high == null ? NONE : `${ratio(step.ratio_low)} to ${ratio(step.ratio_high)}`;
  return [
    scopeOf(series), series.figure, version, value == null ? NONE : inUnit(value, series.unit),
    step?.ratio == null ? NONE : ratio(step.ratio), interval, step == null ? NONE : step.verdict.replaceAll("_", " "),
  ];
}
