// Saves a figure as a file: an SVG with title and note above and conditions below, or a PNG of that.

import type { Theme } from "./colour";
import { h, svg } from "./dom";
import { FONT } from "./layout";

// Letter widths of the widest common font, because the viewer may lack ours.
const TITLE = 34, LINE = 15, LETTER = 6.3, TITLE_LETTER = 10;

/** The margin to the left and right of a drawing. */
const SIDE = 6;

/** The name of a figure, with the note and conditions that a reader needs if it is shown alone. */
export interface Naming {
  title: string;
  note: string;
  conditions: string[];
}

/** Wraps a text into lines of at most `maxLetters`; a longer word is cut into pieces. */
export function wrapText(text: string, maxLetters: number): string[] {
  const words = text.split(" ").flatMap((word) => word.match(new RegExp(`.{1,${maxLetters}}`, "gu")) ?? []);
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last != null && last.length + 1 + word.length <= maxLetters) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Returns a picture with title, note, drawing and conditions. */
export function standalonePicture(picture: SVGElement, name: Naming, theme: Theme): SVGElement {
  const wide = Number(picture.getAttribute("width")), width = wide + 2 * SIDE, inside = Number(picture.getAttribute("height"));
  const titles = wrapText(name.title, Math.floor((width - 16) / TITLE_LETTER));
  const notes = wrapText(name.note, Math.floor((width - 16) / LETTER));
  const lines = name.conditions.flatMap((text) => wrapText(text, Math.floor((width - 16) / LETTER)));
  const notesTop = TITLE + (titles.length - 1) * 19, top = notesTop + notes.length * LINE, height = top + inside + 8 + lines.length * LINE + 6;
  const inner = picture.cloneNode(true) as SVGElement;
  inner.setAttribute("x", String(SIDE));
  inner.setAttribute("y", String(top));
  const textLine = (text: string, y: number, attributes: Record<string, string>) => svg("text", { x: "8", y: String(y), "font-family": FONT, ...attributes }, text);
  const small = { fill: theme.faint, "font-size": "11" };
  return svg("svg", { width: String(width), height: String(height), viewBox: `0 0 ${width} ${height}`, "font-family": FONT },
    svg("rect", { width: String(width), height: String(height), fill: theme.ground }),
    ...titles.map((text, at) => textLine(text, 22 + at * 19, { fill: theme.text, "font-size": "15", "font-weight": "600" })),
    ...notes.map((text, at) => textLine(text, notesTop + at * LINE + 5, small)),
    inner,
    ...lines.map((text, at) => textLine(text, top + inside + 8 + (at + 1) * LINE - 4, small)));
}

export function download(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const fileName = (name: Naming): string => name.title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/-$/, "").slice(0, 80);

/** Serializes a picture, without characters that XML forbids: a record's text may contain them. */
const serializePicture = (picture: SVGElement): string =>
  new XMLSerializer().serializeToString(picture).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");

export function saveSvg(picture: SVGElement, name: Naming): void {
  download(new Blob([serializePicture(picture)], { type: "image/svg+xml" }), `${fileName(name)}.svg`);
}

export function savePng(picture: SVGElement, name: Naming): void {
  const [width, height] = [Number(picture.getAttribute("width")) * 2, Number(picture.getAttribute("height")) * 2];
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = h("canvas", { width: String(width), height: String(height) });
    canvas.getContext("2d")?.drawImage(image, 0, 0, width, height);
    canvas.toBlob((blob) => blob && download(blob, `${fileName(name)}.png`), "image/png");
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(serializePicture(picture))}`;
}
