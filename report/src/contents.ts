// A table of contents: every figure of the page below its workload, to be unfolded.

import { h } from "./dom";

/** Of fewer figures the page itself is one. */
const FIGURES_MIN = 8;

/** Of what is on the page now: sections with headings, and figures within them. */
export function contents(sections: HTMLElement[]): HTMLElement | null {
  const list = sections.map((section) => ({
    section, heading: section.querySelector("h2")?.textContent ?? section.getAttribute("aria-label") ?? "",
    figures: [...section.querySelectorAll<HTMLElement>(".figure")],
  })).filter(({ figures }) => figures.length > 0);
  const count = list.reduce((sum, { figures }) => sum + figures.length, 0);
  if (count < FIGURES_MIN) return null;
  // What is chosen stands after the `#`: a link must not take its place.
  const link = (text: string, target: HTMLElement) => h("a", { href: target.id ? `#${target.id}` : "#", click: (event) => {
    event.preventDefault();
    target.scrollIntoView();
  } }, text);
  return h("details", { class: "contents" }, h("summary", {}, `Contents: ${count} figures`), h("nav", { "aria-label": "Contents" },
    ...list.map(({ section, heading, figures }) => h("div", {}, h("p", {}, link(heading, section)), h("ol", {}, ...figures.map((figure) =>
      h("li", {}, link(`${figure.dataset["ordinal"] ?? ""} ${figure.querySelector("h3 > span")?.textContent ?? ""}`, figure))))))));
}
