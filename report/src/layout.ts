// Where panels, axes and tooltips of a figure stand.

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
  /** Of one panel, without its title and axis. */
  height: number;
  /** The narrowest panel that can be read. */
  least: number;
  left: number;
  right: number;
  /** Title above, axis below. */
  top?: number;
  bottom?: number;
  most?: number;
}

/** Panels side by side as far as the width allows. */
export function panels(count: number, width: number, space: Space): { panels: Panel[]; height: number } {
  const { top = 34, bottom = 44 } = space;
  const whole = space.left + space.right + space.least;
  const across = Math.max(1, Math.min(count, space.most ?? 3, Math.floor(width / whole)));
  const each = width / across;
  const row = top + space.height + bottom;
  const list = Array.from({ length: count }, (_, at) => ({
    left: (at % across) * each + space.left,
    top: Math.floor(at / across) * row + top,
    width: each - space.left - space.right,
    height: space.height,
  }));
  return { panels: list, height: Math.ceil(count / across) * row };
}

/** More engines than this are not told apart on one chart. */
export const ENGINES_MAX = 6;

/** Of small charts, one an engine. */
export const SMALL: Space = { height: 84, least: 104, left: 58, right: 18, top: 34, bottom: 26, most: 4 };

interface Lines {
  title: string;
  /** The title beside an engine's name. */
  short?: string;
  lines: { engine: Engine }[];
  gaps?: { engine: Engine }[];
}

/** A chart, and the one that it is a part of: they share their axes. */
export interface Multiple<P> {
  panel: P;
  whole: P;
}

/** Where a chart has more engines than can be told apart, a small one for each; what is no engine is in all of them. */
export function multiples<P extends Lines>(list: P[]): { small: boolean; each: Multiple<P>[] } {
  const engines = (panel: P) => [...new Set([...panel.lines, ...(panel.gaps ?? [])].map((one) => one.engine).filter((engine) => !engine.loadGenerator))];
  const small = list.some((panel) => engines(panel).length > ENGINES_MAX);
  if (!small) return { small, each: list.map((panel) => ({ panel, whole: panel })) };
  const each = list.flatMap((whole) => engines(whole).map((engine) => ({
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

/** The next round number: where an axis ends that several charts share. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((n) => n * power >= value * (1 - 1e-9)) ?? 10) * power;
}

/** How far marks of such an axis are apart: a third or a half of it, which is a round number, too. */
export const stepOf = (end: number): number =>
  end / ([1.5, 3, 6].some((n) => Math.abs(Math.log10(end / n) - Math.round(Math.log10(end / n))) < 1e-6) ? 3 : 2);

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/** A panel's title, above its axis. */
export function title(text: string, panel: Panel, left: number, theme: Theme): object {
  return {
    text: cut(text, Math.max(16, Math.floor((panel.width + left) / 6.6))),
    left: panel.left - left + 2,
    top: panel.top - 32,
    padding: 0,
    // Letters are of different width: what does not fit after all is cut by how wide it is.
    textStyle: { color: theme.text, fontSize: 13, fontWeight: 600, fontFamily: FONT, width: panel.width + left - 6, overflow: "truncate", ellipsis: "…" },
  };
}

/** What all axes have in common. */
export function axis(theme: Theme, at: number, more: object): object {
  return {
    gridIndex: at,
    axisLine: { show: true, lineStyle: { color: theme.line } },
    axisTick: { show: false },
    splitLine: { show: true, lineStyle: { color: theme.grid } },
    axisLabel: { color: theme.faint, fontSize: 11, fontFamily: FONT, hideOverlap: true },
    nameTextStyle: { color: theme.faint, fontSize: 11, fontFamily: FONT },
    nameLocation: "middle",
    ...more,
  };
}

export function axisLabel(theme: Theme, formatter: (value: number) => string, more: object = {}): object {
  return { color: theme.faint, fontSize: 11, fontFamily: FONT, hideOverlap: true, formatter, ...more };
}

/** Whatever a name is, it does not fill a figure. */
export const cut = (text: string, most = 22): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text;

/** Room for names at the end of lines. */
export const nameWidth = (names: string[]): number =>
  Math.min(150, Math.max(24, ...names.map((name) => cut(name).length * 7.4 + 14)));

export function tooltip(theme: Theme, more: object = {}): object {
  return {
    confine: true,
    backgroundColor: theme.ground,
    borderColor: theme.line,
    borderWidth: 1,
    padding: [6, 9],
    textStyle: { color: theme.text, fontSize: 12, fontFamily: FONT },
    transitionDuration: 0,
    ...more,
  };
}

/** A tooltip's content: elements, never markup. */
export function tip(heading: string, lines: [word: string, value: string, colour?: string][]): HTMLElement {
  const rows = lines.map(([word, value, colour]): Child =>
    h("tr", {},
      h("td", {}, colour ? h("span", { class: "dot", style: `background:${colour}` }) : "", word),
      h("td", { class: "number" }, value)));
  return h("div", { class: "tip" }, h("strong", {}, heading), h("table", {}, h("tbody", {}, ...rows)));
}
