// The page of one run.

import { carry } from "../appearance";
import { contents } from "../contents";
import type { PageData } from "../data";
import { THEMES, type Theme } from "../colour";
import { h, keepFocus } from "../dom";
import { capital } from "../format";
import { drawAll, drawRest, Frame, refreshFrames, removeFrames, updateFrames } from "../frame";
import { filters } from "../filters";
import { home, watch } from "../live";
import type { Drawing, Figure } from "../drawing";
import { published } from "../figures";
import { driveTables } from "../drives";
import { loadTable } from "../loads";
import { model } from "../model";
import { figuresOf, firstOf, keyOf, numbering, topOf } from "../order";
import { download } from "../save";
import * as sections from "../sections";
import { sheets } from "../sheets";
import { showSlide } from "../slide";
import { chosenWorks, parse, viewOf, write, type Choice, type View } from "../view";

/** So many engines' scoreboard has room beside the charts. */
const BESIDE_MAX = 2;

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
  const figures = h("div", { id: "figures" }), list = h("div", {});
  let warnings = sections.findings(data);
  const beside = h("div", { id: "beside" });
  const top = h("section", { id: "overview", "aria-label": "At a glance" });
  const stage = {
    theme,
    choose: (name: string, value: string) => {
      remember({ ...choice, inside: { ...choice.inside, [name]: value } });
      updateFrames(choice.inside);
    },
    address: (figure: Figure, view: View, drawing: Drawing) =>
      write({ ...choice, figure: figure.name, works: drawing.whole ? choice.works : [view.work.key] }),
  };

  const drawBar = (): void => {
    keepFocus(bar, "filter", () => bar.replaceChildren(filters(whole, choice, theme(), (next) => {
      remember(next);
      show();
    }), themeButton()));
  };
  const themeButton = (): HTMLElement => h("button", { type: "button", class: "theme", "aria-label": "Light or dark", "data-filter": "theme", click: () => {
    remember({ ...choice, theme: theme().name === "dark" ? "light" : "dark" });
    applyTheme();
    drawBar();
    refreshFrames();
  } }, theme().name === "dark" ? "light" : "dark");

  let numbers = numbering(whole);
  const number = (view: View, figure: Figure): number => {
    const key = keyOf(view, figure);
    // What only a filter brings forth comes after all others.
    if (!numbers.has(key)) numbers.set(key, numbers.size + 1);
    return numbers.get(key) ?? 0;
  };
  const frame = (view: View, figure: Figure): HTMLElement | null => {
    // An address may name a choice that has nothing to show.
    const drawing = figure.draw(view) ?? figure.draw({ ...view, inside: {} });
    return drawing ? new Frame(figure, drawing, view, stage, number(view, figure)).element : null;
  };

  const show = (): void => {
    removeFrames();
    drawBar();
    const views = chosenWorks(whole, choice).map((work) => viewOf(whole, work, choice));
    const first = firstOf(views), [any] = views;
    beside.replaceChildren((any && frame(any, published)) ?? "");
    // Two engines: charts and scoreboard side by side, both on the first screen. A third column needs all the width.
    top.className = first && first.engines.length <= BESIDE_MAX ? "beside" : "";
    const frames = first ? topOf(first).map((figure) => frame(first, figure)) : [];
    top.replaceChildren(...frames.slice(0, -1).flatMap((one) => one ?? []), h("div", {}, frames.at(-1), warnings));
    figures.replaceChildren(...views.map((view) => h("section", { "aria-label": view.work.name, "data-work": view.work.key },
      h("h2", {}, capital(view.work.name)),
      ...(view.work.drive ? driveTables(view) : []),
      ...figuresOf(view, view === first).map((figure) => frame(view, figure)),
      view.work.load ? loadTable(view) : null)));
    list.replaceChildren(contents([top, ...figures.querySelectorAll<HTMLElement>("section")]) ?? "");
    drawRest();
  };

  const raw = (): HTMLElement => h("button", { type: "button", class: "raw", click: () =>
    download(new Blob([json], { type: "application/json" }), `${data.summary.run.id}.json`) },
  `All figures, curves and time lines as JSON (${Math.ceil(json.length / 1024)} KiB)`);

  const panel = h("div", { id: "live" });
  const build = (): void => {
    document.title = `${sections.windowTitle(data)}: kvdyno`;
    if (choice.figure != null) {
      removeFrames();
      showSlide(root, whole, choice, theme());
      return;
    }
    // Before its first case is done a run has nothing to show but how it gets on.
    const begun = data.summary.run.cases_recorded > 0;
    warnings = sections.findings(data);
    root.replaceChildren(...[
      sections.head(data, data.live ? home(choice.theme) : null), panel, sections.answers(data, whole), sheets(data.sheets ?? [], beside),
      begun ? top : null, begun ? bar : null, begun ? list : null, figures,
      sections.notHere(data), sections.method(data), sections.host(data), sections.again(data), sections.section("raw", "Raw data", raw()),
    ].filter((part) => part !== null));
    show();
  };
  applyTheme();
  build();
  if (data.live) watch(panel, data.live, (fresh) => {
    json = fresh;
    data = JSON.parse(fresh) as PageData;
    whole = model(data);
    numbers = numbering(whole);
    const at = scrollY;
    build();
    scrollTo(0, at);
  });

  const repaint = (): void => {
    applyTheme();
    if (choice.figure != null) showSlide(root, whole, choice, theme());
    else refreshFrames();
  };
  dark.addEventListener("change", () => { repaint(); drawBar(); });
  addEventListener("hashchange", () => {
    const before = choice.figure;
    choice = parse(location.hash);
    applyTheme();
    if (choice.figure != null || before != null) build();
    else show();
  });
  let waiting = 0;
  let wide = root.clientWidth;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = window.setTimeout(() => {
      if (choice.figure != null && !printing) repaint();
      else if (root.clientWidth !== wide && !printing) refreshFrames();
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
