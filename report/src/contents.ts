// A folded table of contents: every figure of the page, grouped by workload.

import { h } from "./dom";

/** A page with fewer figures has no table of contents. */
const FIGURES_MIN = 8;

/** Creates the table of contents of sections that are on the page, with their figures. */
export function createContents(sections: HTMLElement[]): HTMLElement | null {
  const list = sections.map((section) => ({
    section, heading: section.querySelector("h2")?.textContent ?? section.getAttribute("aria-label") ?? "",
    figures: [...section.querySelectorAll<HTMLElement>(".figure")],
  })).filter(({ figures }) => figures.length > 0);
  const count = list.reduce((sum, { figures }) => sum + figures.length, 0);
  if (count < FIGURES_MIN) return null;
  // The choice is kept after the `#`: a link must not replace it.
  const createLink = (text: string, target: HTMLElement) => h("a", { href: target.id ? `#${target.id}` : "#", click: (event) => {
    event.preventDefault();
    target.scrollIntoView();
  } }, text);
  return h("details", { class: "contents" }, h("summary", {}, `Contents: ${count} figures`), h("nav", { "aria-label": "Contents" },
    ...list.map(({ section, heading, figures }) => h("div", {}, h("p", {}, createLink(heading, section)), h("ol", {}, ...figures.map((figure) =>
      h("li", {}, createLink(`${figure.dataset["ordinal"] ?? ""} ${figure.querySelector("h3 > span")?.textContent ?? ""}`, figure))))))));
}
