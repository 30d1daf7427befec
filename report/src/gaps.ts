// Gaps: engines without a mark in a chart, with the place on its axis and the reason. They are listed below the chart,
// or in the place of a bar.

import type { Metric } from "./data";
import { FONT, layOutPanels, type Panel, type Space } from "./layout";
import { unique, type Case, type Engine } from "./model";
import type { Theme } from "./colour";
import { wrapText } from "./save";
import { chosenEngines, type View } from "./view";

export interface Gap {
  engine: Engine;
  /** The place on the axis; null: the engine has no mark anywhere, or the axis has one place only. */
  at: number | null;
  why: string;
}

/** The reason for a value of 0 on a logarithmic axis. */
export const ZERO_ON_LOG_AXIS = "0 cannot be shown on a logarithmic axis";

/** The reason for an engine that has no case of this workload. */
export const NOT_HERE = "not measured here";

/** Returns the engines that a chart of this view should show: the chosen ones of this part of the suite. */
export function expectedEngines(view: View): Engine[] {
  if (view.work.drive) return view.engines;
  const { model, choice, work } = view;
  return chosenEngines(model, choice).filter((engine) => model.cases.some((one) => one.engine.id === engine.id && one.work.part === work.part));
}

/** Returns why a case has no value: `does not fit`, `p99 needs 1,000 samples`. */
export function missingReason(one: Case | undefined, metric: Metric | null | undefined, otherwise = "no value"): string {
  if (!one) return NOT_HERE;
  return metric?.missing ?? one.group.trials.find((trial) => !trial.done)?.outcome ?? otherwise;
}

/** Finds engines without a value at a place; an engine with the same reason at all places is listed once. */
export function findGaps(engines: Engine[], cases: Case[], readPlace: (one: Case) => number | null, readMetric: (one: Case) => Metric | null): Gap[] {
  const places = unique(cases.filter((one) => !one.engine.loadGenerator).flatMap((one) => readPlace(one) ?? [])).sort((a, b) => a - b);
  return engines.flatMap((engine) => {
    const own = cases.filter((one) => one.engine.id === engine.id);
    const gaps = places.flatMap((at): Gap[] => {
      const casesHere = own.filter((one) => readPlace(one) === at), metrics = casesHere.map(readMetric);
      return metrics.some((metric) => metric?.value != null) ? [] : [{ engine, at, why: missingReason(casesHere[0], metrics[0]) }];
    });
    const [first] = gaps;
    return first && gaps.length === places.length && gaps.every((gap) => gap.why === first.why) ? [{ ...first, at: null }] : gaps;
  });
}

/** Finds the gaps of a chart with one value per engine. */
export function barGaps(view: View, cases: Case[], readMetric: (one: Case) => Metric | null): { engines: Engine[]; gaps: Gap[] } {
  const engines = expectedEngines(view);
  const gaps = engines.flatMap((engine): Gap[] => {
    const one = cases.find((each) => each.engine.id === engine.id), metric = one && readMetric(one);
    return metric?.value != null ? [] : [{ engine, at: null, why: missingReason(one, metric) }];
  });
  return { engines, gaps };
}

/** Finds the gaps of a chart whose lines are not metrics: the engines without a line. */
export function lineGaps(view: View, cases: Case[], drawnEngines: Engine[], readMetric: (one: Case) => Metric | null, otherwise: string): Gap[] {
  return expectedEngines(view).filter((engine) => !drawnEngines.some((one) => one.id === engine.id)).map((engine) => {
    const one = cases.find((each) => each.engine.id === engine.id), metric = one && readMetric(one);
    return { engine, at: null, why: missingReason(one, metric?.value == null ? metric : null, otherwise) };
  });
}

/** Formats gaps: `LMDB, redb: does not fit`, `RocksDB at 2 threads: does not fit`. */
export function formatGaps(gaps: Gap[], formatPlaces: (places: number[]) => string): string[] {
  const engines = unique(gaps.map((gap) => gap.engine));
  const each = engines.flatMap((engine) => {
    const own = gaps.filter((gap) => gap.engine === engine);
    return unique(own.map((gap) => gap.why)).map((why) => {
      const places = own.filter((gap) => gap.why === why).flatMap((gap) => gap.at ?? []);
      return { name: engine.name, words: `${places.length > 0 ? ` at ${formatPlaces(places)}` : ""}: ${why}` };
    });
  });
  return unique(each.map(({ words }) => words)).map((words) => each.filter((one) => one.words === words).map(({ name }) => name).join(", ") + words);
}

/** Formats the gaps of a chart of lines, for a drawing that has no room for them. */
export const notDrawnEngines = (view: View, cases: Case[], drawnEngines: Engine[], readMetric: (one: Case) => Metric | null, otherwise: string): string[] =>
  formatGaps(lineGaps(view, cases, drawnEngines, readMetric, otherwise), String);

/** Returns `2, 4 threads`. */
export const formatThreads = (counts: number[]): string => `${counts.join(", ")} thread${counts.length === 1 && counts[0] === 1 ? "" : "s"}`;

const LINE = 14, LETTER = 6.3;

/** Lays out panels with notes below each: the panels, and the notes as titles of the chart. */
export function layOutPanelsWithNotes(words: string[][], width: number, space: Space, theme: Theme): { panels: Panel[]; height: number; titles: object[] } {
  const bottom = space.bottom ?? 44;
  // The width of a panel does not depend on the notes below it.
  const lines = layOutPanels(words.length, width, space).panels.map((panel, at) => {
    const letters = Math.floor((panel.width + space.left + space.right - 8) / LETTER);
    return (words[at] ?? []).flatMap((text) => wrapText(text, letters));
  });
  const maxLines = Math.max(0, ...lines.map((own) => own.length));
  const layout = layOutPanels(words.length, width, { ...space, bottom: bottom + maxLines * LINE });
  const titles = layout.panels.flatMap((panel, at) => (lines[at] ?? []).map((text, row) => ({
    text, left: panel.left - space.left + 2, top: panel.top + panel.height + bottom - 6 + row * LINE, padding: 0,
    textStyle: { color: theme.faint, fontSize: 11, fontWeight: 400, fontFamily: FONT },
  })));
  return { ...layout, titles };
}
