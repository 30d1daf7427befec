// A figure as a file: its SVG with its title and note above it and its conditions below, or that as a picture.

import type { Theme } from "./colour";
import { h, svg } from "./dom";
import { FONT } from "./layout";

// Letter widths of the widest common font, because the viewer may lack ours.
const TITLE = 34, LINE = 15, LETTER = 6.3, TITLE_LETTER = 10;

/** Left and right of a drawing, whose own words begin a little inside of it. */
const SIDE = 6;

/** What a figure is called, and what must be known where it stands alone. */
export interface Naming {
  title: string;
  note: string;
  conditions: string[];
}

/** Words in lines of so many letters at most; a longer word is cut into pieces. */
export function wrapped(text: string, most: number): string[] {
  const words = text.split(" ").flatMap((word) => word.match(new RegExp(`.{1,${most}}`, "gu")) ?? []);
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last != null && last.length + 1 + word.length <= most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** A figure with all that its reader must know: title, note, drawing, conditions. */
export function standalone(drawn: SVGElement, name: Naming, theme: Theme): SVGElement {
  const wide = Number(drawn.getAttribute("width")), width = wide + 2 * SIDE, inside = Number(drawn.getAttribute("height"));
  const titles = wrapped(name.title, Math.floor((width - 16) / TITLE_LETTER));
  const notes = wrapped(name.note, Math.floor((width - 16) / LETTER));
  const lines = name.conditions.flatMap((text) => wrapped(text, Math.floor((width - 16) / LETTER)));
  const noted = TITLE + (titles.length - 1) * 19, top = noted + notes.length * LINE, height = top + inside + 8 + lines.length * LINE + 6;
  const inner = drawn.cloneNode(true) as SVGElement;
  inner.setAttribute("x", String(SIDE));
  inner.setAttribute("y", String(top));
  const written = (text: string, y: number, more: Record<string, string>) => svg("text", { x: "8", y: String(y), "font-family": FONT, ...more }, text);
  const small = { fill: theme.faint, "font-size": "11" };
  return svg("svg", { width: String(width), height: String(height), viewBox: `0 0 ${width} ${height}`, "font-family": FONT },
    svg("rect", { width: String(width), height: String(height), fill: theme.ground }),
    ...titles.map((text, at) => written(text, 22 + at * 19, { fill: theme.text, "font-size": "15", "font-weight": "600" })),
    ...notes.map((text, at) => written(text, noted + at * LINE + 5, small)),
    inner,
    ...lines.map((text, at) => written(text, top + inside + 8 + (at + 1) * LINE - 4, small)));
}

export function download(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const fileName = (name: Naming): string => name.title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/-$/, "").slice(0, 80);

/** Without the characters that XML has not: a record's text may hold any. */
const textOf = (picture: SVGElement): string =>
  new XMLSerializer().serializeToString(picture).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");

export function saveSvg(picture: SVGElement, name: Naming): void {
  download(new Blob([textOf(picture)], { type: "image/svg+xml" }), `${fileName(name)}.svg`);
}

export function savePng(picture: SVGElement, name: Naming): void {
  const [width, height] = [Number(picture.getAttribute("width")) * 2, Number(picture.getAttribute("height")) * 2];
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = h("canvas", { width: String(width), height: String(height) });
    canvas.getContext("2d")?.drawImage(image, 0, 0, width, height);
    canvas.toBlob((blob) => blob && download(blob, `${fileName(name)}.png`), "image/png");
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(textOf(picture))}`;
}
