// Engines without a mark in a chart: which, where along its axis, and why. Said below the chart, or at the place of a bar.

import type { Metric } from "./data";
import { FONT, panels, type Panel, type Space } from "./layout";
import { unique, type Case, type Engine } from "./model";
import type { Theme } from "./colour";
import { wrapped } from "./save";
import { chosenEngines, type View } from "./view";

export interface Gap {
  engine: Engine;
  /** Where along the axis; null: nowhere on it is a mark, or it has but one place. */
  at: number | null;
  why: string;
}

/** A value of 0 has no place on a logarithmic axis. */
export const BELOW = "0 cannot be shown on a logarithmic axis";

/** Of an engine that has no case of this work. */
export const NOT_HERE = "not measured here";

/** Engines that a chart of this view is expected to show: the chosen ones that this part of the suite has. */
export function expectedEngines(view: View): Engine[] {
  if (view.work.drive) return view.engines;
  const { model, choice, work } = view;
  return chosenEngines(model, choice).filter((engine) => model.cases.some((one) => one.engine.id === engine.id && one.work.part === work.part));
}

/** Why a case has no value: `does not fit`, `p99 needs 1,000 samples`. */
export function whyMissing(one: Case | undefined, metric: Metric | null | undefined, otherwise = "no value"): string {
  if (!one) return NOT_HERE;
  return metric?.missing ?? one.group.trials.find((trial) => !trial.done)?.outcome ?? otherwise;
}

/** Engines without a value at some place; with the same reason at all places they stand once. */
export function gapsOf(engines: Engine[], cases: Case[], place: (one: Case) => number | null, read: (one: Case) => Metric | null): Gap[] {
  const places = unique(cases.filter((one) => !one.engine.loadGenerator).flatMap((one) => place(one) ?? [])).sort((a, b) => a - b);
  return engines.flatMap((engine) => {
    const own = cases.filter((one) => one.engine.id === engine.id);
    const gaps = places.flatMap((at): Gap[] => {
      const here = own.filter((one) => place(one) === at), metrics = here.map(read);
      return metrics.some((metric) => metric?.value != null) ? [] : [{ engine, at, why: whyMissing(here[0], metrics[0]) }];
    });
    const [first] = gaps;
    return first && gaps.length === places.length && gaps.every((gap) => gap.why === first.why) ? [{ ...first, at: null }] : gaps;
  });
}

/** Of a chart with one value for each engine. */
export function barGaps(view: View, cases: Case[], read: (one: Case) => Metric | null): { engines: Engine[]; gaps: Gap[] } {
  const engines = expectedEngines(view);
  const gaps = engines.flatMap((engine): Gap[] => {
    const one = cases.find((each) => each.engine.id === engine.id), metric = one && read(one);
    return metric?.value != null ? [] : [{ engine, at: null, why: whyMissing(one, metric) }];
  });
  return { engines, gaps };
}

/** Of a chart whose lines are no metrics: engines that it has no line of. */
export function lineGaps(view: View, cases: Case[], drawn: Engine[], read: (one: Case) => Metric | null, otherwise: string): Gap[] {
  return expectedEngines(view).filter((engine) => !drawn.some((one) => one.id === engine.id)).map((engine) => {
    const one = cases.find((each) => each.engine.id === engine.id), metric = one && read(one);
    return { engine, at: null, why: whyMissing(one, metric?.value == null ? metric : null, otherwise) };
  });
}

/** `LMDB, redb: does not fit`, `RocksDB at 2 threads: does not fit`. */
export function gapWords(gaps: Gap[], place: (places: number[]) => string): string[] {
  const engines = unique(gaps.map((gap) => gap.engine));
  const each = engines.flatMap((engine) => {
    const own = gaps.filter((gap) => gap.engine === engine);
    return unique(own.map((gap) => gap.why)).map((why) => {
      const places = own.filter((gap) => gap.why === why).flatMap((gap) => gap.at ?? []);
      return { name: engine.name, words: `${places.length > 0 ? ` at ${place(places)}` : ""}: ${why}` };
    });
  });
  return unique(each.map(({ words }) => words)).map((words) => each.filter((one) => one.words === words).map(({ name }) => name).join(", ") + words);
}

/** The same in words, for a drawing that has no place for them. */
export const withoutWords = (view: View, cases: Case[], drawn: Engine[], read: (one: Case) => Metric | null, otherwise: string): string[] =>
  gapWords(lineGaps(view, cases, drawn, read, otherwise), String);

/** `2, 4 threads`. */
export const threadWords = (counts: number[]): string => `${counts.join(", ")} thread${counts.length === 1 && counts[0] === 1 ? "" : "s"}`;

const LINE = 14, LETTER = 6.3;

/** Panels with words below each: where they stand, and the words. */
export function panelsWithWords(words: string[][], width: number, space: Space, theme: Theme): { panels: Panel[]; height: number; titles: object[] } {
  const bottom = space.bottom ?? 44;
  // How wide a panel is does not depend on what stands below it.
  const lines = panels(words.length, width, space).panels.map((panel, at) => {
    const letters = Math.floor((panel.width + space.left + space.right - 8) / LETTER);
    return (words[at] ?? []).flatMap((text) => wrapped(text, letters));
  });
  const most = Math.max(0, ...lines.map((own) => own.length));
  const place = panels(words.length, width, { ...space, bottom: bottom + most * LINE });
  const titles = place.panels.flatMap((panel, at) => (lines[at] ?? []).map((text, row) => ({
    text, left: panel.left - space.left + 2, top: panel.top + panel.height + bottom - 6 + row * LINE, padding: 0,
    textStyle: { color: theme.faint, fontSize: 11, fontWeight: 400, fontFamily: FONT },
  })));
  return { ...place, titles };
}
