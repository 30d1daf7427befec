// The layout of a figure: panels, axes and tooltips.

import type { Child } from "./dom";
import { h } from "./dom";
import type { Theme } from "./colour";
import type { Engine } from "./model";

export interface Panel {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Space {
  /** The height of one panel, without its title and axis. */
  height: number;
  /** The least width of a panel. */
  least: number;
  left: number;
  right: number;
  /** The room for the title above the panel; `bottom` is that for the axis below. `most`: panels side by side. */
  top?: number;
  bottom?: number;
  most?: number;
}

/** Lays out panels, as many side by side as the width allows. */
export function layOutPanels(count: number, width: number, space: Space): { panels: Panel[]; height: number } {
  const { top = 34, bottom = 44 } = space;
  const panelWidth = space.left + space.right + space.least;
  const columns = Math.max(1, Math.min(count, space.most ?? 3, Math.floor(width / panelWidth)));
  const columnWidth = width / columns;
  const row = top + space.height + bottom;
  const list = Array.from({ length: count }, (_, at) => ({
    left: (at % columns) * columnWidth + space.left,
    top: Math.floor(at / columns) * row + top,
    width: columnWidth - space.left - space.right,
    height: space.height,
  }));
  return { panels: list, height: Math.ceil(count / columns) * row };
}

/** The most engines that are distinguishable in one chart. */
export const ENGINES_MAX = 6;

/** The space of small charts, one per engine. */
export const SMALL: Space = { height: 84, least: 104, left: 58, right: 18, top: 34, bottom: 26, most: 4 };

interface Lines {
  title: string;
  /** The title after an engine's name. */
  short?: string;
  lines: { engine: Engine }[];
  gaps?: { engine: Engine }[];
}

/** A chart, and the whole chart that it is part of: they share their axes. */
export interface Multiple<P> {
  panel: P;
  whole: P;
}

/** Splits charts with too many engines into one small chart per engine; lines that are no engine's are in all of them. */
export function splitByEngine<P extends Lines>(list: P[]): { small: boolean; each: Multiple<P>[] } {
  const panelEngines = (panel: P) => [...new Set([...panel.lines, ...(panel.gaps ?? [])].map((one) => one.engine).filter((engine) => !engine.loadGenerator))];
  const small = list.some((panel) => panelEngines(panel).length > ENGINES_MAX);
  if (!small) return { small, each: list.map((panel) => ({ panel, whole: panel })) };
  const each = list.flatMap((whole) => panelEngines(whole).map((engine) => ({
    whole,
    panel: {
      ...whole,
      title: list.length > 1 ? `${engine.name}: ${whole.short ?? whole.title}` : engine.name,
      lines: whole.lines.filter((line) => line.engine === engine || line.engine.loadGenerator),
      ...(whole.gaps ? { gaps: whole.gaps.filter((gap) => gap.engine === engine) } : {}),
    },
  })));
  return { small, each };
}

/** Formats a coordinate as CSS and SVG have it: in percent of the width. */
export const formatCoordinate = (percent: number): string => `${percent.toFixed(3)}%`;

/** Returns the next round number, as the end of an axis that several charts share. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((n) => n * power >= value * (1 - 1e-9)) ?? 10) * power;
}

/** Returns the step between the marks of such an axis: a third or a half of it, which is also round. */
export const axisStep = (end: number): number =>
  end / ([1.5, 3, 6].some((n) => Math.abs(Math.log10(end / n) - Math.round(Math.log10(end / n))) < 1e-6) ? 3 : 2);

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/** Returns the options of a panel's title, above its axis. */
export function panelTitle(text: string, panel: Panel, left: number, theme: Theme): object {
  return {
    text: truncate(text, Math.max(16, Math.floor((panel.width + left) / 6.6))),
    left: panel.left - left + 2,
    top: panel.top - 32,
    padding: 0,
    // Letters differ in width: a title that is still too wide is cut by its real width.
    textStyle: { color: theme.text, fontSize: 13, fontWeight: 600, fontFamily: FONT, width: panel.width + left - 6, overflow: "truncate", ellipsis: "…" },
  };
}

/** Returns the options that all axes have in common. */
export function axisOptions(theme: Theme, at: number, options: object): object {
  return {
    gridIndex: at,
    axisLine: { show: true, lineStyle: { color: theme.line } },
    axisTick: { show: false },
    splitLine: { show: true, lineStyle: { color: theme.grid } },
    axisLabel: { color: theme.faint, fontSize: 11, fontFamily: FONT, hideOverlap: true },
    nameTextStyle: { color: theme.faint, fontSize: 11, fontFamily: FONT },
    nameLocation: "middle",
    ...options,
  };
}

export function axisLabelOptions(theme: Theme, formatter: (value: number) => string, options: object = {}): object {
  return { color: theme.faint, fontSize: 11, fontFamily: FONT, hideOverlap: true, formatter, ...options };
}

/** Shortens a text, so that a long name does not fill a figure. */
export const truncate = (text: string, maxLength = 22): string =>
  text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;

/** Returns the width for names at the end of lines. */
export const nameWidth = (names: string[]): number =>
  Math.min(150, Math.max(24, ...names.map((name) => truncate(name).length * 7.4 + 14)));

export function tooltipOptions(theme: Theme, options: object = {}): object {
  return {
    confine: true,
    backgroundColor: theme.ground,
    borderColor: theme.line,
    borderWidth: 1,
    padding: [6, 9],
    textStyle: { color: theme.text, fontSize: 12, fontFamily: FONT },
    transitionDuration: 0,
    ...options,
  };
}

/** Creates a tooltip's content: elements, never markup. */
export function tooltipContent(heading: string, lines: [word: string, value: string, colour?: string][]): HTMLElement {
  const rows = lines.map(([word, value, colour]): Child =>
    h("tr", {},
      h("td", {}, colour ? h("span", { class: "dot", style: `background:${colour}` }) : "", word),
      h("td", { class: "number" }, value)));
  return h("div", { class: "tip" }, h("strong", {}, heading), h("table", {}, h("tbody", {}, ...rows)));
}
