// Light or dark: as the reader's system is, or as the address says.

import { h } from "./dom";

export type Shade = "light" | "dark";

const dark = matchMedia("(prefers-color-scheme: dark)");

export const shadeOf = (wanted: Shade | null): Shade => wanted ?? (dark.matches ? "dark" : "light");

/** Keeps the page in the wanted shade, and the button that changes it. */
export function appearance(wanted: () => Shade | null, choose: (shade: Shade) => void): HTMLElement {
  const button = h("button", { type: "button", class: "theme", "aria-label": "Light or dark", click: () => {
    choose(shadeOf(wanted()) === "dark" ? "light" : "dark");
    apply();
  } });
  const apply = (): void => {
    const shade = shadeOf(wanted());
    document.documentElement.dataset["theme"] = shade;
    button.textContent = shade === "dark" ? "light" : "dark";
    carry(wanted());
  };
  dark.addEventListener("change", apply);
  addEventListener("hashchange", apply);
  apply();
  return button;
}

/** A link inside the server: the shade goes along. */
export const linked = (path: string, shade: Shade | null): string => (shade ? `${path}#theme=${shade}` : path);

/** The same for the links that are there already. */
export function carry(shade: Shade | null): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>("a[href^='/'], a[href^='?']")) {
    link.setAttribute("href", linked(link.getAttribute("href")?.replace(/#.*/, "") ?? "", shade));
  }
}

/** A part of a path: whatever a name holds, it stays one part. */
export const part = (name: string): string => encodeURIComponent(name);
