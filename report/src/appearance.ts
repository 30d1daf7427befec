// The page's shade, light or dark: the reader's system decides, unless the address names one.

import { h } from "./dom";

export type Shade = "light" | "dark";

const dark = matchMedia("(prefers-color-scheme: dark)");

export const resolveShade = (chosen: Shade | null): Shade => chosen ?? (dark.matches ? "dark" : "light");

/** Creates the button that switches the shade, and keeps the page in the chosen shade. */
export function createShadeButton(chosenShade: () => Shade | null, choose: (shade: Shade) => void): HTMLElement {
  const button = h("button", { type: "button", class: "theme", "aria-label": "Light or dark", click: () => {
    choose(resolveShade(chosenShade()) === "dark" ? "light" : "dark");
    applyShade();
  } });
  const applyShade = (): void => {
    const shade = resolveShade(chosenShade());
    document.documentElement.dataset["theme"] = shade;
    button.textContent = shade === "dark" ? "light" : "dark";
    updateLinks(chosenShade());
  };
  dark.addEventListener("change", applyShade);
  addEventListener("hashchange", applyShade);
  applyShade();
  return button;
}

/** Returns a link inside the server that carries the chosen shade. */
export const withShade = (path: string, shade: Shade | null): string => (shade ? `${path}#theme=${shade}` : path);

/** Adds the chosen shade to all links that are on the page. */
export function updateLinks(shade: Shade | null): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>("a[href^='/'], a[href^='?']")) {
    link.setAttribute("href", withShade(link.getAttribute("href")?.replace(/#.*/, "") ?? "", shade));
  }
}

/** Encodes a name as one segment of a path. */
export const encodePart = (name: string): string => encodeURIComponent(name);
