// What a figure is before it is drawn.

import type { Theme } from "./colour";
import type { Option } from "./echarts";
import type { Case } from "./model";
import type { TableData } from "./table";
import type { View } from "./view";

/** A choice inside a figure. */
export interface Control {
  name: string;
  label: string;
  options: { value: string; label: string }[];
  value: string;
}

export interface Drawing {
  title: string;
  /** One line: which way is better, trials, what must be known to read it. */
  note: string;
  /** How it was measured, and what it leaves out: to be unfolded, a paragraph each. */
  how?: string[];
  controls?: Control[];
  /** It is about the run, not about a workload. */
  whole?: boolean;
  /** The cases that are drawn, where those are not the view's. */
  cases?: Case[];
  /** Engines that it does not show, and why: `LMDB: does not fit`; where the drawing itself does not say so. */
  without?: string[];
  /** Whiskers stand beside its values. */
  whiskers?: boolean;
  /** Drawn by ECharts... */
  chart?: (width: number, theme: Theme) => { height: number; option: Option };
  /** ...or an element of its own. */
  element?: (theme: Theme) => HTMLElement;
  /** What is saved of an element. */
  picture?: (theme: Theme) => SVGElement;
  table: () => TableData;
}

export interface Figure {
  /** Its name in addresses: it stays, whatever number the figure has on a page. */
  name: string;
  /** It says something of a bare drive, too. */
  drive?: boolean;
  /** Null where the view has nothing to show in it. */
  draw: (view: View) => Drawing | null;
}

/** The value chosen inside a figure, as far as it is one of the options. */
export function control(
  view: View,
  name: string,
  label: string,
  options: { value: string; label: string }[],
  fallback: string,
): Control {
  const wanted = view.inside[name];
  const value = options.some((option) => option.value === wanted) ? wanted ?? fallback : fallback;
  return { name, label, options, value };
}

export const better = (direction: string): string =>
  direction === "higher" ? "higher is better" : direction === "lower" ? "lower is better" : "neither way is better";

/** What is drawn beside a median. */
export const RANGES = "Dots are trials; a whisker is the interval of their median, below six trials from the least to the most.";

/** Paragraphs without those that have nothing to say. */
export const paragraphs = (...texts: string[]): string[] => texts.map((text) => text.trim()).filter((text) => text !== "");

export function trialsNote(view: View): string {
  const counts = [...new Set(view.cases.filter((one) => !one.engine.loadGenerator).map((one) => one.group.trials.length))];
  const low = Math.min(...counts), high = Math.max(...counts);
  if (!Number.isFinite(low)) return "no trials";
  const count = low === high ? `${low}` : `${low} to ${high}`;
  return high === 1 ? "1 trial: no spread known" : `${count} trials`;
}
