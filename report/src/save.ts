// A figure as a file: its SVG with its title above it, or that as a picture.

import type { Theme } from "./colour";
import { h, svg } from "./dom";
import { FONT } from "./layout";

const TITLE = 34, FOOT = 22;

/** What a figure is called, and where it is from. */
export interface Naming {
  title: string;
  source: string;
}

function standalone(drawn: SVGElement | null, name: Naming, theme: Theme): { text: string; width: number; height: number } | null {
  if (!drawn) return null;
  const width = Number(drawn.getAttribute("width"));
  const height = Number(drawn.getAttribute("height")) + TITLE + FOOT;
  const inner = drawn.cloneNode(true) as SVGElement;
  inner.setAttribute("y", String(TITLE));
  const title = svg("text", { x: "8", y: "22", fill: theme.text, "font-size": "15", "font-weight": "600", "font-family": FONT }, name.title);
  const foot = svg("text", { x: "8", y: String(height - 8), fill: theme.faint, "font-size": "11", "font-family": FONT }, name.source);
  const whole = svg("svg", { width: String(width), height: String(height), viewBox: `0 0 ${width} ${height}`, "font-family": FONT },
    svg("rect", { width: String(width), height: String(height), fill: theme.ground }), title, foot, inner);
  return { text: new XMLSerializer().serializeToString(whole), width, height };
}

export function download(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const fileName = (name: Naming): string => name.title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/-$/, "").slice(0, 80);

export function saveSvg(drawn: SVGElement | null, name: Naming, theme: Theme): void {
  const picture = standalone(drawn, name, theme);
  if (picture) download(new Blob([picture.text], { type: "image/svg+xml" }), `${fileName(name)}.svg`);
}

export function savePng(drawn: SVGElement | null, name: Naming, theme: Theme): void {
  const picture = standalone(drawn, name, theme);
  if (!picture) return;
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = h("canvas", { width: String(picture.width * 2), height: String(picture.height * 2) });
    canvas.getContext("2d")?.drawImage(image, 0, 0, picture.width * 2, picture.height * 2);
    canvas.toBlob((blob) => blob && download(blob, `${fileName(name)}.png`), "image/png");
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture.text)}`;
}
