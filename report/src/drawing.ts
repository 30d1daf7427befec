// The description of a figure before it is drawn.

import type { Theme } from "./colour";
import type { Option } from "./echarts";
import type { Case } from "./model";
import type { TableData } from "./table";
import type { View } from "./view";

/** A control inside a figure. */
export interface Control {
  name: string;
  label: string;
  options: { value: string; label: string }[];
  value: string;
}

export interface Drawing {
  title: string;
  /** One line below the title: the better direction, trials, and how to read the figure. */
  note: string;
  /** Folded paragraphs: how the figure was measured, and what it leaves out. */
  how?: string[];
  controls?: Control[];
  /** The figure is about the run, not about a workload. */
  whole?: boolean;
  /** The drawn cases; absent: all cases of the view. */
  cases?: Case[];
  /** Engines that are not drawn, with the reason (`LMDB: does not fit`), if the drawing itself does not name them. */
  notDrawn?: string[];
  /** The figure has whiskers. */
  whiskers?: boolean;
  /** The chart that ECharts draws, or... */
  chart?: (width: number, theme: Theme) => { height: number; option: Option };
  /** ...an element. */
  element?: (theme: Theme) => HTMLElement;
  /** The picture of an element, for saving. */
  picture?: (theme: Theme) => SVGElement;
  table: () => TableData;
}

export interface Figure {
  /** The name in addresses, independent of the figure's number on a page. */
  name: string;
  /** The figure also applies to a bare drive. */
  drive?: boolean;
  /** Returns the drawing; null: the view has no data for it. */
  draw: (view: View) => Drawing | null;
}

/** Creates a control with the chosen value, or with the fallback if that value is not an option. */
export function createControl(
  view: View,
  name: string,
  label: string,
  options: { value: string; label: string }[],
  fallback: string,
): Control {
  const chosen = view.inside[name];
  const value = options.some((option) => option.value === chosen) ? chosen ?? fallback : fallback;
  return { name, label, options, value };
}

export const formatDirection = (direction: string): string =>
  direction === "higher" ? "higher is better" : direction === "lower" ? "lower is better" : "neither way is better";

/** Explains the dots and whiskers next to a median. */
export const RANGES = "Dots are trials; a whisker is the interval of their median, below six trials from the least to the most.";

/** Returns the texts that are not empty. */
export const nonEmptyTexts = (...texts: string[]): string[] => texts.map((text) => text.trim()).filter((text) => text !== "");

export function trialsNote(view: View): string {
  const counts = [...new Set(view.cases.filter((one) => !one.engine.loadGenerator).map((one) => one.group.trials.length))];
  const low = Math.min(...counts), high = Math.max(...counts);
  if (!Number.isFinite(low)) return "no trials";
  const count = low === high ? `${low}` : `${low} to ${high}`;
  return high === 1 ? "1 trial: no spread known" : `${count} trials`;
}
