// The page of one run.

import { carry } from "../appearance";
import type { PageData } from "../data";
import { THEMES, type Theme } from "../colour";
import { h } from "../dom";
import { drawAll, Frame, refreshFrames, removeFrames, updateFrames } from "../frame";
import { filters } from "../filters";
import { home, watch } from "../live";
import { FIGURES, scoreboard } from "../figures";
import { driveTables } from "../drives";
import { loadTable } from "../loads";
import { model } from "../model";
import { download } from "../save";
import * as sections from "../sections";
import { chosenWorks, parse, viewOf, write, type Choice } from "../view";

export function report(root: HTMLElement, first: PageData, text: string): void {
  let data = first, json = text;
  let whole = model(data);
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
    carry(choice.theme);
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
    // Nothing is compared with a bare drive.
    const scores = views.filter((view) => !view.work.drive).map((view) => frame(view, scoreboard)).filter((one) => one !== null);
    figures.replaceChildren(
      scores.length > 0 ? sections.section("scoreboard", "Scoreboard", ...scores) : "",
      ...views.map((view) => h("section", { "aria-label": view.work.name },
        h("h2", {}, view.work.name[0]?.toUpperCase() + view.work.name.slice(1)),
        view.work.load ? loadTable(view) : null,
        ...(view.work.drive ? driveTables(view) : []),
        ...FIGURES.filter((figure) => figure.drive || !view.work.drive).map((figure) => frame(view, figure)))));
  };

  const raw = (): HTMLElement => h("button", { type: "button", class: "raw", click: () =>
    download(new Blob([json], { type: "application/json" }), `${data.summary.run.id}.json`) },
  `All figures, curves and time lines as JSON (${Math.ceil(json.length / 1024)} KiB)`);

  const panel = h("div", { id: "live" });
  const build = (): void => {
    document.title = `${data.summary.run.title || data.summary.run.suite}: kvdyno`;
    // Before its first case is done a run has nothing to show but how it gets on.
    const begun = data.summary.run.cases_recorded > 0;
    root.replaceChildren(...[
      sections.head(data, data.live ? home(choice.theme) : null), panel, sections.answers(data),
      begun ? sections.findings(data) : null, sections.host(data), begun ? bar : null, figures,
      sections.method(data), sections.again(data), sections.section("raw", "Raw data", raw()),
    ].filter((part) => part !== null));
    show();
  };
  applyTheme();
  build();
  if (data.live) watch(panel, data.live, (fresh) => {
    json = fresh;
    data = JSON.parse(fresh) as PageData;
    whole = model(data);
    const top = scrollY;
    build();
    scrollTo(0, top);
  });

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
