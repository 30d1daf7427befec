// A figure as a file: its SVG with its title above it, or that as a picture.

import type { Theme } from "./colour";
import { h, svg } from "./dom";
import { FONT } from "./layout";

const TITLE = 34;

function standalone(body: HTMLElement, name: string, theme: Theme): { text: string; width: number; height: number } | null {
  const drawn = body.querySelector("svg");
  if (!drawn) return null;
  const width = drawn.width.baseVal.value;
  const height = drawn.height.baseVal.value + TITLE;
  const inner = drawn.cloneNode(true) as SVGSVGElement;
  inner.setAttribute("y", String(TITLE));
  const title = svg("text", { x: "8", y: "22", fill: theme.text, "font-size": "15", "font-weight": "600", "font-family": FONT }, name);
  const whole = svg("svg", { width: String(width), height: String(height), viewBox: `0 0 ${width} ${height}`, "font-family": FONT },
    svg("rect", { width: String(width), height: String(height), fill: theme.ground }), title, inner);
  return { text: new XMLSerializer().serializeToString(whole), width, height };
}

export function download(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const fileName = (name: string): string => `figure-${name.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/-$/, "").slice(0, 80)}`;

export function saveSvg(body: HTMLElement, name: string, theme: Theme): void {
  const picture = standalone(body, name, theme);
  if (picture) download(new Blob([picture.text], { type: "image/svg+xml" }), `${fileName(name)}.svg`);
}

export function savePng(body: HTMLElement, name: string, theme: Theme): void {
  const picture = standalone(body, name, theme);
  if (!picture) return;
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = h("canvas", { width: String(picture.width * 2), height: String(picture.height * 2) });
    canvas.getContext("2d")?.drawImage(image, 0, 0, picture.width * 2, picture.height * 2);
    canvas.toBlob((blob) => blob && download(blob, `${fileName(name)}.png`), "image/png");
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture.text)}`;
}
