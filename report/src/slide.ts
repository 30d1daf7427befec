// One figure alone, as large as the window and drawn at once: for slides, and for capture by a program.

import type { Theme } from "./colour";
import { h } from "./dom";
import type { Drawing } from "./drawing";
import { init } from "./echarts";
import { drawChart } from "./labels";
import { unique, type Model } from "./model";
import { figureNaming } from "./naming";
import { orderFigures } from "./order";
import { standalonePicture, type Naming } from "./save";
import { formatChoice, type Choice } from "./view";

/** Candidate widths of a chart. Letters have a fixed size: in a narrower chart they are larger in the window. */
const WIDTHS = Array.from({ length: 37 }, (_, at) => 600 + at * 25);

/** Candidate widths of a figure without a picture. */
const ELEMENT_WIDTHS = [900, 1000, 1100, 1200, 1300, 1400, 1500, 1600];

/** Returns the index of the size that leaves the least of the window empty. */
export function findBestFit(sizes: { width: number; height: number }[], window: { width: number; height: number }): number {
  const filled = sizes.map(({ width, height }) => {
    const shape = (width / height) / (window.width / window.height);
    return Math.min(shape, 1 / shape);
  });
  return filled.indexOf(Math.max(...filled));
}

function chartPicture(chart: NonNullable<Drawing["chart"]>, name: Naming, theme: Theme): SVGElement {
  const drawAt = (width: number): SVGElement => {
    const { height, option } = chart(width, theme), body = h("div");
    const instance = init(body, null, { renderer: "svg", width, height });
    drawChart(instance, option);
    const picture = standalonePicture(body.querySelector("svg") as SVGElement, name, theme);
    instance.dispose();
    return picture;
  };
  const frameSize = (width: number) => {
    const { height } = chart(width, theme), frame = standalonePicture(blankPicture(width, height), name, theme);
    return { width, height: Number(frame.getAttribute("height")) };
  };
  const best = findBestFit(WIDTHS.map(frameSize), { width: innerWidth, height: innerHeight });
  return drawAt(WIDTHS[best] ?? 900);
}

function blankPicture(width: number, height: number): SVGElement {
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("width", String(width));
  picture.setAttribute("height", String(height));
  return picture;
}

/** Creates the slide of an element, such as a table, with the same texts above and below it as a picture. */
function elementSlide(element: HTMLElement, name: Naming): HTMLElement {
  return h("div", { class: "words" }, h("h1", {}, name.title), h("p", { class: "note" }, name.note), element,
    ...name.conditions.map((text) => h("p", { class: "note" }, text)));
}

function drawSlide(drawing: Drawing, name: Naming, theme: Theme): Element {
  const picture = drawing.picture ? standalonePicture(drawing.picture(theme), name, theme)
    : drawing.chart ? chartPicture(drawing.chart, name, theme) : null;
  if (!picture) return elementSlide(drawing.element?.(theme) ?? h("div"), name);
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", `${name.title}. ${name.note}`);
  return picture;
}

/** Lists the figures of the page, for an address that names none of them. */
function listNames(list: [name: string, title: string][], choice: Choice): HTMLElement {
  const requested = choice.figure === "" ? "no name" : `"${choice.figure}"`;
  return h("div", { class: "words" }, h("p", { role: "alert" }, `Expected the name of a figure of this page, found ${requested}. These are there:`),
    h("ul", {}, ...list.map(([name, title]) => h("li", {}, h("a", { href: formatChoice({ ...choice, figure: name }) }, name), ` ${title}`))),
    h("p", {}, h("a", { href: formatChoice({ ...choice, figure: null }) || "#" }, "The whole page")));
}

/** Shows only the figure that the address names. */
export function showSlide(root: HTMLElement, model: Model, choice: Choice, theme: Theme): void {
  const all = orderFigures(model, choice).flatMap(([view, figure]) => {
    const drawing = figure.draw(view) ?? figure.draw({ ...view, inside: {} });
    return drawing ? [{ name: figure.name, view, drawing }] : [];
  });
  const one = all.find(({ name }) => name === choice.figure);
  const slide = h("div", { class: "slide" }, one ? drawSlide(one.drawing, figureNaming(one.drawing, one.view), theme)
    : listNames(unique(all.map(({ name }) => name)).map((name) => [name, all.find((one) => one.name === name)?.drawing.title ?? ""]), choice));
  if (one) slide.dataset["figure"] = one.name;
  root.replaceChildren(slide);
  const words = one ? slide.querySelector<HTMLElement>(".words") : null;
  if (words) enlargeToWindow(words);
  document.documentElement.dataset["drawn"] = "all";
}

/** Enlarges an element to the window, at the width that leaves the least of it empty. */
function enlargeToWindow(words: HTMLElement): void {
  const sizeAt = (wide: number) => {
    words.style.width = `${wide}px`;
    return { width: Math.max(wide, words.scrollWidth), height: words.scrollHeight };
  };
  const window = { width: innerWidth, height: innerHeight }, sizes = ELEMENT_WIDTHS.map(sizeAt), best = findBestFit(sizes, window);
  const size = sizeAt(ELEMENT_WIDTHS[best] ?? 1000);
  words.style.setProperty("zoom", Math.min(window.width / size.width, window.height / size.height).toFixed(3));
}
