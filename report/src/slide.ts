// One figure alone, as large as the window, drawn at once: for a slide, and for whoever captures it without a reader.

import type { Theme } from "./colour";
import { h } from "./dom";
import type { Drawing } from "./drawing";
import { init } from "./echarts";
import { drawChart } from "./labels";
import { unique, type Model } from "./model";
import { namingOf } from "./naming";
import { inOrder } from "./order";
import { standalone, type Naming } from "./save";
import { write, type Choice } from "./view";

/** The widths that a chart is tried at: letters have one size, and so are the larger in the window, the narrower it is. */
const WIDTHS = Array.from({ length: 37 }, (_, at) => 600 + at * 25);

/** The same of what has no picture. */
const ELEMENT_WIDTHS = [900, 1000, 1100, 1200, 1300, 1400, 1500, 1600];

/** Of sizes the place of the one that leaves least of the window empty. */
export function fullest(sizes: { width: number; height: number }[], window: { width: number; height: number }): number {
  const filled = sizes.map(({ width, height }) => {
    const shape = (width / height) / (window.width / window.height);
    return Math.min(shape, 1 / shape);
  });
  return filled.indexOf(Math.max(...filled));
}

function chartPicture(chart: NonNullable<Drawing["chart"]>, name: Naming, theme: Theme): SVGElement {
  const draw = (width: number): SVGElement => {
    const { height, option } = chart(width, theme), body = h("div");
    const drawn = init(body, null, { renderer: "svg", width, height });
    drawChart(drawn, option);
    const picture = standalone(body.querySelector("svg") as SVGElement, name, theme);
    drawn.dispose();
    return picture;
  };
  const empty = (width: number) => {
    const { height } = chart(width, theme), frame = standalone(blank(width, height), name, theme);
    return { width, height: Number(frame.getAttribute("height")) };
  };
  const place = fullest(WIDTHS.map(empty), { width: innerWidth, height: innerHeight });
  return draw(WIDTHS[place] ?? 900);
}

function blank(width: number, height: number): SVGElement {
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("width", String(width));
  picture.setAttribute("height", String(height));
  return picture;
}

/** A table in the page's own letters, with the same words above and below it. */
function elementSlide(element: HTMLElement, name: Naming): HTMLElement {
  return h("div", { class: "words" }, h("h1", {}, name.title), h("p", { class: "note" }, name.note), element,
    ...name.conditions.map((text) => h("p", { class: "note" }, text)));
}

function drawSlide(drawing: Drawing, name: Naming, theme: Theme): Element {
  const picture = drawing.picture ? standalone(drawing.picture(theme), name, theme)
    : drawing.chart ? chartPicture(drawing.chart, name, theme) : null;
  if (!picture) return elementSlide(drawing.element?.(theme) ?? h("div"), name);
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", `${name.title}. ${name.note}`);
  return picture;
}

/** Which figures there are, where none of that name is. */
function listNames(list: [name: string, title: string][], choice: Choice): HTMLElement {
  const found = choice.figure === "" ? "no name" : `"${choice.figure}"`;
  return h("div", { class: "words" }, h("p", { role: "alert" }, `Expected the name of a figure of this page, found ${found}. These are there:`),
    h("ul", {}, ...list.map(([name, title]) => h("li", {}, h("a", { href: write({ ...choice, figure: name }) }, name), ` ${title}`))),
    h("p", {}, h("a", { href: write({ ...choice, figure: null }) || "#" }, "The whole page")));
}

/** Shows the figure that the address names, and nothing else. */
export function showSlide(root: HTMLElement, whole: Model, choice: Choice, theme: Theme): void {
  const all = inOrder(whole, choice).flatMap(([view, figure]) => {
    const drawing = figure.draw(view) ?? figure.draw({ ...view, inside: {} });
    return drawing ? [{ name: figure.name, view, drawing }] : [];
  });
  const one = all.find(({ name }) => name === choice.figure);
  const slide = h("div", { class: "slide" }, one ? drawSlide(one.drawing, namingOf(one.drawing, one.view), theme)
    : listNames(unique(all.map(({ name }) => name)).map((name) => [name, all.find((one) => one.name === name)?.drawing.title ?? ""]), choice));
  if (one) slide.dataset["figure"] = one.name;
  root.replaceChildren(slide);
  const words = one ? slide.querySelector<HTMLElement>(".words") : null;
  if (words) enlarge(words);
  document.documentElement.dataset["drawn"] = "all";
}

/** As large as the window allows, at the width that leaves least of it empty. */
function enlarge(words: HTMLElement): void {
  const sizeAt = (wide: number) => {
    words.style.width = `${wide}px`;
    return { width: Math.max(wide, words.scrollWidth), height: words.scrollHeight };
  };
  const window = { width: innerWidth, height: innerHeight }, sizes = ELEMENT_WIDTHS.map(sizeAt), place = fullest(sizes, window);
  const size = sizeAt(ELEMENT_WIDTHS[place] ?? 1000);
  words.style.setProperty("zoom", Math.min(window.width / size.width, window.height / size.height).toFixed(3));
}
