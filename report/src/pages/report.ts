// The page of one run.

import { storeHash } from "../address";
import { updateLinks } from "../appearance";
import { createContents } from "../contents";
import type { PageData } from "../data";
import { THEMES, type Theme } from "../colour";
import { h, keepFocus } from "../dom";
import { capitalize } from "../format";
import { drawFrames, drawRemainingFrames, Frame, refreshFrames, removeFrames, updateFrames } from "../frame";
import { createFilters } from "../filters";
import { homeLink, watchRun } from "../live";
import type { Drawing, Figure } from "../drawing";
import { published } from "../figures";
import { driveTables } from "../drives";
import { loadTable } from "../loads";
import { buildModel } from "../model";
import { sectionFigures, firstView, figureKey, numberFigures, topFigures } from "../order";
import { download } from "../save";
import * as sections from "../sections";
import { sheetsSection } from "../sheets";
import { showSlide } from "../slide";
import { chosenWorks, parseChoice, createView, formatChoice, type Choice, type View } from "../view";

/** The most engines whose scoreboard fits next to the charts. */
const BESIDE_MAX = 2;

export function showReport(root: HTMLElement, first: PageData, text: string): void {
  let data = first, json = text;
  let model = buildModel(data);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let choice = parseChoice(location.hash);
  let printing = false;

  const currentTheme = (): Theme => (printing ? THEMES.print : THEMES[choice.theme ?? (dark.matches ? "dark" : "light")]);
  const storeChoice = (next: Choice): void => {
    choice = next;
    storeHash(formatChoice(choice));
  };
  const applyTheme = (): void => {
    document.documentElement.dataset["theme"] = currentTheme().name === "dark" ? "dark" : "light";
    updateLinks(choice.theme);
  };

  const bar = h("div", { class: "filterbar" });
  const figures = h("div", { id: "figures" }), list = h("div", {});
  let warnings = sections.findingsSection(data);
  const studyBody = h("div", { id: "beside" });
  const top = h("section", { id: "overview", "aria-label": "At a glance" });
  const stage = {
    theme: currentTheme,
    choose: (name: string, value: string) => {
      storeChoice({ ...choice, inside: { ...choice.inside, [name]: value } });
      updateFrames(choice.inside);
    },
    address: (figure: Figure, view: View, drawing: Drawing) =>
      formatChoice({ ...choice, figure: figure.name, works: drawing.whole ? choice.works : [view.work.key] }),
  };

  const drawBar = (): void => {
    keepFocus(bar, "filter", () => bar.replaceChildren(createFilters(model, choice, currentTheme(), (next) => {
      storeChoice(next);
      showFigures();
    }), createThemeButton()));
  };
  const createThemeButton = (): HTMLElement => h("button", { type: "button", class: "theme", "aria-label": "Light or dark", "data-filter": "theme", click: () => {
    storeChoice({ ...choice, theme: currentTheme().name === "dark" ? "light" : "dark" });
    applyTheme();
    drawBar();
    refreshFrames();
  } }, currentTheme().name === "dark" ? "light" : "dark");

  let numbers = numberFigures(model);
  const figureNumber = (view: View, figure: Figure): number => {
    const key = figureKey(view, figure);
    // A figure that appears only with a filter is numbered after all others.
    if (!numbers.has(key)) numbers.set(key, numbers.size + 1);
    return numbers.get(key) ?? 0;
  };
  const createFrame = (view: View, figure: Figure): HTMLElement | null => {
    // An address may name a choice without data.
    const drawing = figure.draw(view) ?? figure.draw({ ...view, inside: {} });
    return drawing ? new Frame(figure, drawing, view, stage, figureNumber(view, figure)).element : null;
  };

  const showFigures = (): void => {
    removeFrames();
    drawBar();
    const views = chosenWorks(model, choice).map((work) => createView(model, work, choice));
    const first = firstView(views), [anyView] = views;
    studyBody.replaceChildren((anyView && createFrame(anyView, published)) ?? "");
    // With two engines charts and scoreboard are side by side; a third column needs the full width.
    top.className = first && first.engines.length <= BESIDE_MAX ? "beside" : "";
    const frames = first ? topFigures(first).map((figure) => createFrame(first, figure)) : [];
    top.replaceChildren(...frames.slice(0, -1).flatMap((one) => one ?? []), h("div", {}, frames.at(-1), warnings));
    figures.replaceChildren(...views.map((view) => h("section", { "aria-label": view.work.name, "data-work": view.work.key },
      h("h2", {}, capitalize(view.work.name)),
      ...(view.work.drive ? driveTables(view) : []),
      ...sectionFigures(view, view === first).map((figure) => createFrame(view, figure)),
      view.work.load ? loadTable(view) : null)));
    list.replaceChildren(createContents([top, ...figures.querySelectorAll<HTMLElement>("section")]) ?? "");
    drawRemainingFrames();
  };

  const createDownload = (): HTMLElement => h("button", { type: "button", class: "raw", click: () =>
    download(new Blob([json], { type: "application/json" }), `${data.summary.run.id}.json`) },
  `All figures, curves and time lines as JSON (${Math.ceil(json.length / 1024)} KiB)`);

  const panel = h("div", { id: "live" });
  const buildPage = (): void => {
    document.title = `${sections.windowTitle(data)}: kvdyno`;
    if (choice.figure != null) {
      removeFrames();
      showSlide(root, model, choice, currentTheme());
      return;
    }
    // Before its first case is done, a run has only its progress to show.
    const hasCases = data.summary.run.cases_recorded > 0;
    warnings = sections.findingsSection(data);
    root.replaceChildren(...[
      sections.pageHead(data, data.live ? homeLink(choice.theme) : null), panel, sections.answersSection(data, model), sheetsSection(data.sheets ?? [], studyBody),
      hasCases ? top : null, hasCases ? bar : null, hasCases ? list : null, figures,
      sections.notRunSection(data), sections.methodSection(data), sections.hostSection(data), sections.commandSection(data), sections.createSection("raw", "Raw data", createDownload()),
    ].filter((part) => part !== null));
    showFigures();
  };
  applyTheme();
  buildPage();
  if (data.live) watchRun(panel, data.live, (fresh) => {
    json = fresh;
    data = JSON.parse(fresh) as PageData;
    model = buildModel(data);
    numbers = numberFigures(model);
    const at = scrollY;
    buildPage();
    scrollTo(0, at);
  });

  const repaint = (): void => {
    applyTheme();
    if (choice.figure != null) showSlide(root, model, choice, currentTheme());
    else refreshFrames();
  };
  dark.addEventListener("change", () => { repaint(); drawBar(); });
  addEventListener("hashchange", () => {
    const before = choice.figure;
    choice = parseChoice(location.hash);
    applyTheme();
    if (choice.figure != null || before != null) buildPage();
    else showFigures();
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
  // Before printing, all figures are drawn, on white.
  const setPrinting = (value: boolean): void => {
    if (printing === value) return;
    printing = value;
    if (value) drawFrames();
    repaint();
  };
  addEventListener("beforeprint", () => setPrinting(true));
  addEventListener("afterprint", () => setPrinting(false));
  matchMedia("print").addEventListener("change", (event) => setPrinting(event.matches));
}
