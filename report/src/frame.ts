// A figure on the page: caption, choices, drawing, the table behind it, and ways to save it. Drawn when it
// comes into view, so that a thousand cases open as fast as one; the rest while there is nothing else to do.

import { THEMES, type Theme } from "./colour";
import { h, keepFocus } from "./dom";
import { withoutLine } from "./conditions";
import type { Control, Drawing, Figure } from "./drawing";
import { init, type Chart } from "./echarts";
import { drawChart } from "./labels";
import { nameOf, namingOf } from "./naming";
import { savePng, saveSvg, standalone, type Naming } from "./save";
import { table } from "./table";
import type { View } from "./view";

export interface Stage {
  theme: () => Theme;
  /** A choice inside a figure was made. */
  choose: (name: string, value: string) => void;
  /** Where this figure is shown alone. */
  address: (figure: Figure, view: View, drawing: Drawing) => string;
}

/** As wide as A4 between its margins, made smaller by a fifth. */
const PAPER = 856;

const frames = new Set<Frame>();

export class Frame {
  readonly element: HTMLElement;
  private chart: Chart | null = null;
  private drawn = false;
  private drawing: Drawing;
  private readonly body = h("div", { class: "drawing" });
  private readonly controls = h("div", { class: "controls" });
  private readonly details = h("details", {}, h("summary", {}, "Table"));
  private readonly how = h("details", { class: "how" }, h("summary", {}, "How this is measured"));
  private readonly note = h("p", { class: "note" });
  private readonly heading = h("span");
  private readonly without = h("p", { class: "note without" });
  private readonly alone = h("a", { title: "This figure alone, as large as the window: for a slide" }, "alone");

  constructor(
    private readonly figure: Figure,
    drawing: Drawing,
    private view: View,
    private readonly stage: Stage,
    /** Its number on this page: what it is cited by. */
    ordinal: number,
  ) {
    this.drawing = drawing;
    const tool = (label: string, save: () => void) =>
      h("button", { type: "button", title: `Save this figure as ${label}`, click: save }, label);
    const tools = drawing.chart || drawing.picture
      ? h("div", { class: "tools" },
        tool("SVG", () => this.save(saveSvg)),
        tool("PNG", () => this.save(savePng)), this.alone)
      : h("div", { class: "tools" }, this.alone);
    this.element = h("figure", { class: "figure", id: `figure-${ordinal}` },
      h("figcaption", {},
        h("h3", {}, h("a", { class: "ordinal", href: `#figure-${ordinal}`, click: (event) => { event.preventDefault(); this.element.scrollIntoView(); } }, `Figure ${ordinal}`), " ", this.heading),
        tools, this.note),
      this.controls, this.body, this.without, this.details, this.how);
    this.element.dataset["figure"] = figure.name;
    this.element.dataset["ordinal"] = String(ordinal);
    this.prepare();
    frames.add(this);
    observer.observe(this.element);
  }

  private save(as: (picture: SVGElement, name: Naming) => void): void {
    const { drawing, view } = this, theme = this.stage.theme();
    const drawn = drawing.picture?.(theme) ?? this.body.querySelector("svg"), name = namingOf(drawing, view);
    if (drawn) as(standalone(drawn, name, theme), name);
  }

  /** All that needs no drawing: so that the page does not jump when it is drawn. */
  private prepare(): void {
    this.note.textContent = this.drawing.note;
    this.without.textContent = withoutLine(this.drawing);
    this.without.hidden = this.without.textContent === "";
    const [summary] = this.how.children;
    const how = this.drawing.how ?? [];
    if (summary) this.how.replaceChildren(summary, ...how.map((text) => h("p", { class: "note" }, text)));
    this.how.hidden = how.length === 0;
    this.heading.textContent = this.drawing.title;
    this.alone.href = this.stage.address(this.figure, this.view, this.drawing);
    keepFocus(this.controls, "control", () => this.controls.replaceChildren(...(this.drawing.controls ?? [])
      .filter((control) => control.options.length > 1)
      .map((control) => this.select(control))));
    const { chart } = this.drawing;
    if (chart && !this.drawn) this.body.style.minHeight = `${chart(this.width(), this.stage.theme()).height}px`;
  }

  private select(control: Control): HTMLElement {
    const select = h("select", {
      "data-control": control.name,
      change: (event) => this.stage.choose(control.name, (event.target as HTMLSelectElement).value),
    }, ...control.options.map((option) =>
      h("option", { value: option.value, selected: option.value === control.value }, option.label)));
    return h("label", {}, control.label, " ", select);
  }

  private width(): number {
    // On paper nothing stands beside a figure, whatever does on the screen.
    return this.stage.theme().name === "print" ? PAPER : this.body.clientWidth || this.element.clientWidth || 720;
  }

  draw(): void {
    if (this.drawn || !this.element.isConnected) return;
    this.drawn = true;
    this.paint();
  }

  private paint(): void {
    const theme = this.stage.theme();
    const { chart, element } = this.drawing;
    if (chart) {
      const width = this.width();
      const { height, option } = chart(width, theme);
      this.body.style.minHeight = "";
      if (this.chart && (this.chart.getWidth() !== width || this.chart.getHeight() !== height)) {
        this.chart.resize({ width, height });
      }
      this.chart ??= init(this.body, null, { renderer: "svg", width, height });
      drawChart(this.chart, option);
      const picture = this.body.querySelector("svg");
      picture?.setAttribute("role", "img");
      picture?.setAttribute("aria-label", `${nameOf(this.drawing, this.view)}. ${this.drawing.note}. The table below holds its figures.`);
    } else if (element) {
      this.body.replaceChildren(element(theme));
    }
    const [summary] = this.details.children;
    if (summary) this.details.replaceChildren(summary, table(this.drawing.table(), nameOf(this.drawing, this.view)));
    this.element.dataset["drawn"] = theme.name;
  }

  /** Another choice inside; where it has nothing to show, what is drawn stays. */
  update(inside: Record<string, string>): void {
    this.view = { ...this.view, inside };
    const drawing = this.figure.draw(this.view);
    if (!drawing) {
      // The controls agree with what is drawn.
      this.prepare();
      return;
    }
    this.drawing = drawing;
    this.prepare();
    if (this.drawn) this.paint();
  }

  /** The width or the theme changed. */
  refresh(): void {
    this.prepare();
    if (this.drawn) this.paint();
  }

  remove(): void {
    observer.unobserve(this.element);
    this.chart?.dispose();
    frames.delete(this);
  }
}

const byElement = (element: Element): Frame | undefined =>
  [...frames].find((frame) => frame.element === element);

const observer = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    observer.unobserve(entry.target);
    byElement(entry.target)?.draw();
  }
}, { rootMargin: "400px" });

export const removeFrames = (): void => frames.forEach((frame) => frame.remove());
export const updateFrames = (inside: Record<string, string>): void =>
  frames.forEach((frame) => frame.update(inside));
export const refreshFrames = (): void => frames.forEach((frame) => frame.refresh());
/** What is drawn at once, before anybody has looked: whoever captures the page when it has loaded gets most runs whole. */
const AT_ONCE_MS = 400;

/** Draws what nobody has come to yet, too, and then a figure at a time: a page that is captured whole has no empty
 * ones. Whoever waits for that looks at the page's `data-drawn`. */
export function drawRest(): void {
  const all = [...frames], until = performance.now() + AT_ONCE_MS;
  delete document.documentElement.dataset["drawn"];
  const from = (start: number): void => {
    let at = start;
    do {
      const frame = all[at];
      if (!frame) {
        document.documentElement.dataset["drawn"] = "all";
        return;
      }
      // What is shown anew meanwhile begins anew.
      if (!frames.has(frame)) return;
      frame.draw();
      at += 1;
    } while (performance.now() < until);
    setTimeout(() => from(at));
  };
  from(0);
}

export const drawAll = (): void => frames.forEach((frame) => frame.draw());
export const PRINT = THEMES.print;
