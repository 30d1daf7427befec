// The page of one run.

import type { PageData } from "../data";
import { THEMES, type Theme } from "../colour";
import { h } from "../dom";
import { drawAll, Frame, refreshFrames, removeFrames, updateFrames } from "../frame";
import { filters } from "../filters";
import { FIGURES, scoreboard } from "../figures";
import { loadTable } from "../loads";
import { model } from "../model";
import { download } from "../save";
import * as sections from "../sections";
import { chosenWorks, parse, viewOf, write, type Choice } from "../view";

export function report(root: HTMLElement, data: PageData, json: string): void {
  const whole = model(data);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let choice = parse(location.hash);
  let printing = false;

  const theme = (): Theme => (printing ? THEMES.print : THEMES[choice.theme ?? (dark.matches ? "dark" : "light")]);
  const remember = (next: Choice): void => {
    choice = next;
    history.replaceState(null, "", write(choice) || location.pathname + location.search);
  };
  const applyTheme = (): void => {
    document.documentElement.dataset["theme"] = theme().name === "dark" ? "dark" : "light";
  };

  const bar = h("div", { class: "filterbar" });
  const figures = h("div", { id: "figures" });
  const stage = {
    theme,
    choose: (name: string, value: string) => {
      remember({ ...choice, inside: { ...choice.inside, [name]: value } });
      updateFrames(choice.inside);
    },
  };

  const drawBar = (): void => {
    // The keyboard stays where it was.
    const focused = (document.activeElement as HTMLElement | null)?.dataset["filter"];
    bar.replaceChildren(filters(whole, choice, theme(), (next) => {
      remember(next);
      show();
    }), themeButton());
    const buttons = [...bar.querySelectorAll<HTMLElement>("[data-filter]")];
    buttons.find((button) => button.dataset["filter"] === focused)?.focus();
  };
  const themeButton = (): HTMLElement => h("button", { type: "button", class: "theme", "aria-label": "Light or dark", "data-filter": "theme", click: () => {
    remember({ ...choice, theme: theme().name === "dark" ? "light" : "dark" });
    applyTheme();
    drawBar();
    refreshFrames();
  } }, theme().name === "dark" ? "light" : "dark");

  const show = (): void => {
    removeFrames();
    drawBar();
    const views = chosenWorks(whole, choice).map((work) => viewOf(whole, work, choice));
    const frame = (view: (typeof views)[number], figure: (typeof FIGURES)[number]): HTMLElement | null => {
      const drawing = figure.draw(view);
      return drawing ? new Frame(figure, drawing, view, stage).element : null;
    };
    figures.replaceChildren(
      sections.section("scoreboard", "Scoreboard", ...views.map((view) => frame(view, scoreboard))),
      ...views.map((view) => h("section", { "aria-label": view.work.name },
        h("h2", {}, view.work.name[0]?.toUpperCase() + view.work.name.slice(1)),
        view.work.load ? loadTable(view) : null,
        ...FIGURES.map((figure) => frame(view, figure)))));
  };

  const raw = h("button", { type: "button", class: "raw", click: () =>
    download(new Blob([json], { type: "application/json" }), `${data.summary.run.id}.json`) },
  `All figures, curves and time lines as JSON (${Math.ceil(json.length / 1024)} KiB)`);

  document.title = `${data.summary.run.title || data.summary.run.suite}: kvdyno`;
  applyTheme();
  root.replaceChildren(...[
    sections.head(data), sections.answers(data), sections.findings(data), sections.host(data), bar, figures,
    sections.method(data), sections.again(data), sections.section("raw", "Raw data", raw),
  ].filter((part) => part !== null));
  show();

  const repaint = (): void => {
    applyTheme();
    refreshFrames();
  };
  dark.addEventListener("change", () => { repaint(); drawBar(); });
  addEventListener("hashchange", () => {
    choice = parse(location.hash);
    applyTheme();
    show();
  });
  let waiting = 0;
  let wide = root.clientWidth;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = window.setTimeout(() => {
      if (root.clientWidth !== wide && !printing) refreshFrames();
      wide = root.clientWidth;
    }, 120);
  });
  // What is printed is drawn first, all of it, on white.
  const print = (on: boolean): void => {
    if (printing === on) return;
    printing = on;
    if (on) drawAll();
    repaint();
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  matchMedia("print").addEventListener("change", (event) => print(event.matches));
}
