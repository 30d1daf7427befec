// A figure on the page: caption, controls, drawing, table, and buttons to save it. It is drawn when it comes into
// view, so that a page of a thousand cases opens quickly; the others are drawn while the page is idle.

import { THEMES, type Theme } from "./colour";
import { h, keepFocus } from "./dom";
import { notDrawnNote } from "./conditions";
import type { Control, Drawing, Figure } from "./drawing";
import { init, type Chart } from "./echarts";
import { drawChart } from "./labels";
import { figureName, figureNaming } from "./naming";
import { savePng, saveSvg, standalonePicture, type Naming } from "./save";
import { createTable } from "./table";
import type { View } from "./view";

export interface Stage {
  theme: () => Theme;
  /** Stores a choice made inside a figure. */
  choose: (name: string, value: string) => void;
  /** Returns the address that shows a figure alone. */
  address: (figure: Figure, view: View, drawing: Drawing) => string;
}

/** The width of a printed figure in pixels: that of A4 between its margins, scaled down by a fifth. */
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
  private readonly notDrawn = h("p", { class: "note without" });
  private readonly alone = h("a", { title: "This figure alone, as large as the window: for a slide" }, "alone");

  constructor(
    private readonly figure: Figure,
    drawing: Drawing,
    private view: View,
    private readonly stage: Stage,
    /** The figure's number on this page. */
    ordinal: number,
  ) {
    this.drawing = drawing;
    const createTool = (label: string, save: () => void) =>
      h("button", { type: "button", title: `Save this figure as ${label}`, click: save }, label);
    const tools = drawing.chart || drawing.picture
      ? h("div", { class: "tools" },
        createTool("SVG", () => this.save(saveSvg)),
        createTool("PNG", () => this.save(savePng)), this.alone)
      : h("div", { class: "tools" }, this.alone);
    this.element = h("figure", { class: "figure", id: `figure-${ordinal}` },
      h("figcaption", {},
        h("h3", {}, h("a", { class: "ordinal", href: `#figure-${ordinal}`, click: (event) => { event.preventDefault(); this.element.scrollIntoView(); } }, `Figure ${ordinal}`), " ", this.heading),
        tools, this.note),
      this.controls, this.body, this.notDrawn, this.details, this.how);
    this.element.dataset["figure"] = figure.name;
    this.element.dataset["ordinal"] = String(ordinal);
    this.prepare();
    frames.add(this);
    observer.observe(this.element);
  }

  private save(saveAs: (picture: SVGElement, name: Naming) => void): void {
    const { drawing, view } = this, theme = this.stage.theme();
    const picture = drawing.picture?.(theme) ?? this.body.querySelector("svg"), name = figureNaming(drawing, view);
    if (picture) saveAs(standalonePicture(picture, name, theme), name);
  }

  /** Fills in everything except the drawing, so that the page does not jump when the figure is drawn. */
  private prepare(): void {
    this.note.textContent = this.drawing.note;
    this.notDrawn.textContent = notDrawnNote(this.drawing);
    this.notDrawn.hidden = this.notDrawn.textContent === "";
    const [summary] = this.how.children;
    const how = this.drawing.how ?? [];
    if (summary) this.how.replaceChildren(summary, ...how.map((text) => h("p", { class: "note" }, text)));
    this.how.hidden = how.length === 0;
    this.heading.textContent = this.drawing.title;
    this.alone.href = this.stage.address(this.figure, this.view, this.drawing);
    keepFocus(this.controls, "control", () => this.controls.replaceChildren(...(this.drawing.controls ?? [])
      .filter((control) => control.options.length > 1)
      .map((control) => this.createSelect(control))));
    const { chart } = this.drawing;
    if (chart && !this.drawn) this.body.style.minHeight = `${chart(this.width(), this.stage.theme()).height}px`;
  }

  private createSelect(control: Control): HTMLElement {
    const select = h("select", {
      "data-control": control.name,
      change: (event) => this.stage.choose(control.name, (event.target as HTMLSelectElement).value),
    }, ...control.options.map((option) =>
      h("option", { value: option.value, selected: option.value === control.value }, option.label)));
    return h("label", {}, control.label, " ", select);
  }

  private width(): number {
    // On paper each figure has the full width.
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
      picture?.setAttribute("aria-label", `${figureName(this.drawing, this.view)}. ${this.drawing.note}. The table below holds its figures.`);
    } else if (element) {
      this.body.replaceChildren(element(theme));
    }
    const [summary] = this.details.children;
    if (summary) this.details.replaceChildren(summary, createTable(this.drawing.table(), figureName(this.drawing, this.view)));
    this.element.dataset["drawn"] = theme.name;
  }

  /** Applies a choice made inside the figure; without data for it the drawing stays. */
  update(inside: Record<string, string>): void {
    this.view = { ...this.view, inside };
    const drawing = this.figure.draw(this.view);
    if (!drawing) {
      // The controls show the choice that is drawn.
      this.prepare();
      return;
    }
    this.drawing = drawing;
    this.prepare();
    if (this.drawn) this.paint();
  }

  /** Draws the figure again after a change of the width or the theme. */
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

const findFrame = (element: Element): Frame | undefined =>
  [...frames].find((frame) => frame.element === element);

const observer = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    observer.unobserve(entry.target);
    findFrame(entry.target)?.draw();
  }
}, { rootMargin: "400px" });

export const removeFrames = (): void => frames.forEach((frame) => frame.remove());
export const updateFrames = (inside: Record<string, string>): void =>
  frames.forEach((frame) => frame.update(inside));
export const refreshFrames = (): void => frames.forEach((frame) => frame.refresh());
/** The time for drawing figures at once, so that a page captured right after loading is usually complete. */
const AT_ONCE_MS = 400;

/** Draws the figures that are not in view: some at once, then the others one at a time. Then the page's `data-drawn`
 * is `all`, which a program that captures the page can wait for. */
export function drawRemainingFrames(): void {
  const all = [...frames], deadline = performance.now() + AT_ONCE_MS;
  delete document.documentElement.dataset["drawn"];
  const drawFrom = (start: number): void => {
    let at = start;
    do {
      const frame = all[at];
      if (!frame) {
        document.documentElement.dataset["drawn"] = "all";
        return;
      }
      // The page was rebuilt meanwhile, which has started a new round.
      if (!frames.has(frame)) return;
      frame.draw();
      at += 1;
    } while (performance.now() < deadline);
    setTimeout(() => drawFrom(at));
  };
  drawFrom(0);
}

export const drawFrames = (): void => frames.forEach((frame) => frame.draw());
export const PRINT = THEMES.print;
