// The page of a comparison: differences, their size, and their certainty.

import { parseHash, parseShade, formatHash, storeHash } from "../address";
import { createShadeButton, withShade, encodePart, type Shade } from "../appearance";
import type { Judgement, Pair, Sample, Side, Versus, VersusData, VersusRow } from "../data";
import { h, keepFocus, type Child } from "../dom";
import { createFilterGroup } from "../filters";
import { ratioAxis, forestPlot, JUDGEMENTS, ratioScale, verdictMark, WORDS, type Scale } from "../forest";
import { formatDate, formatValue, NONE, formatRatio } from "../format";
import { homeLink } from "../live";
import { movesSection } from "../moves";
import { unique } from "../model";
import { download } from "../save";
import { createSection } from "../sections";
import { createTable } from "../table";
import { figureTitle } from "../titles";

interface Choice {
  verdicts: string[];
  cases: string[];
  figures: string[];
  theme: Shade | null;
}

const FILTERS = [["verdict", "verdicts"], ["case", "cases"], ["figure", "figures"]] as const;

function parseChoice(hash: string): Choice {
  const parameters = parseHash(hash);
  const [verdicts, cases, figures] = FILTERS.map(([name]) => parameters.getAll(name)) as [string[], string[], string[]];
  return { verdicts, cases, figures, theme: parseShade(parameters) };
}

function formatChoice(choice: Choice): string {
  const parameters = new URLSearchParams();
  for (const [name, list] of FILTERS) for (const value of choice[list]) parameters.append(name, value);
  if (choice.theme) parameters.set("theme", choice.theme);
  return formatHash(parameters);
}

export function showVersus(root: HTMLElement, data: VersusData, json: string): void {
  let choice = parseChoice(location.hash);
  const storeChoice = (next: Choice): void => {
    choice = next;
    storeHash(formatChoice(choice));
  };
  const button = createShadeButton(() => choice.theme, (theme) => storeChoice({ ...choice, theme }));
  const { versus } = data;
  const kicker = h("p", { class: "kicker" }, data.between ? homeLink(choice.theme) : null, `kvdyno · comparison${versus ? ` · ${formatTrials(versus)}` : ""}`);
  const head = h("header", { class: "head row" }, h("div", {}, kicker, h("h1", {}, versus ? comparisonTitle(versus) : "These cannot be compared")), button);
  document.title = `${versus ? comparisonTitle(versus) : "Comparison"}: kvdyno`;
  if (!versus) {
    root.replaceChildren(head, h("p", { class: "refused", role: "alert" }, data.refused?.message ?? ""), h("p", {}, data.refused?.hint ?? ""));
    return;
  }
  const bar = h("div", { class: "filterbar still" }), figures = h("div", { id: "pairs" });
  const show = (): void => {
    keepFocus(bar, "filter", () => bar.replaceChildren(createFilters(versus, choice, (next) => {
      storeChoice(next);
      show();
    })));
    figures.replaceChildren(figuresSection(data, versus, choice));
  };
  const raw = h("button", { type: "button", class: "raw", click: () => download(new Blob([json], { type: "application/json" }), "comparison.json") },
    `The comparison as JSON (${Math.ceil(json.length / 1024)} KiB)`);
  root.replaceChildren(...[
    head, resultElement(versus), explanationSection(data), bar, figures, movesSection(data.profiles, versus.base.label ?? "base"), unpairedSection(versus), remarksSection(data), differencesSection(data, versus, choice),
    createSection("raw", "Raw data", raw),
  ].filter((one) => one !== null));
  show();
  addEventListener("hashchange", () => {
    choice = parseChoice(location.hash);
    show();
  });
}

function comparisonTitle({ base, new: other }: Versus): string {
  if (base.label != null && other.label != null) return `${other.label} against ${base.label}`;
  return base.suite === other.suite ? `${other.suite}: two runs compared` : `${other.suite} against ${base.suite}`;
}

/** Returns `LMDB 6 trials, RocksDB 6 trials`. */
function formatTrials({ base, new: other }: Versus): string {
  const sideTrials = (word: string, side: Side) => `${side.label ?? word} ${side.trials} trial${side.trials === 1 ? "" : "s"}`;
  return `${sideTrials("base", base)}, ${sideTrials("new", other)}`;
}

/** Returns the label of a verdict. Of two engines one is better: neither has regressed. */
function verdictLabel({ base, new: other }: Versus, verdict: Judgement): string {
  if (base.label == null || other.label == null) return WORDS[verdict];
  return verdict === "improved" ? `${other.label} better` : verdict === "regressed" ? `${base.label} better` : WORDS[verdict];
}

/** Replaces the names of figures in a sentence of the program by their titles. */
const replaceFigureNames = (text: string): string => text.replace(/\b[a-z0-9]+(?:_[a-z0-9]+)+\b/g, figureTitle);

/** The most regressed figures that the gate's line names. */
const NAMED = 3;

/** Creates the line with the result of the gate; null: no gate. */
function gateLine({ gate, base, new: other }: Versus): HTMLElement | null {
  if (!gate) return null;
  const share = `${Number((gate.allowed * 100).toPrecision(3))} %`, [count, engines] = [gate.regressed.length, base.label != null && other.label != null];
  const figures = `${count} figure${count === 1 ? "" : "s"}`, more = count > NAMED ? `; and ${count - NAMED} more` : "";
  const names = `${gate.regressed.slice(0, NAMED).map(replaceFigureNames).join("; ")}${more}`;
  const words = {
    passed: ["Gate passed", engines ? `${other.label} is not worse than ${base.label} by more than ${share}.` : `nothing regressed by more than ${share}.`],
    undecided: ["Gate undecided", `no figure is certainly worse by more than ${share}, but some may be: more trials would decide.`],
    failed: ["Gate failed", `${engines ? `${other.label} is worse than ${base.label} by more than ${share} in ${figures}` : `${figures} regressed by more than ${share}`}: ${names}.`],
    cannot_judge: ["Gate cannot judge", `no figure is known to be worse by more than ${share}, but some could not be judged.`],
  }[gate.result];
  return h("p", { class: `gate ${gate.result}` }, h("strong", {}, words[0] ?? ""), `: ${words[1] ?? ""}`);
}

/** Creates the line with the findings that make figures void, of both sides; null: none. */
function voidFigures({ base, new: other }: Versus): HTMLElement | null {
  const list = unique([...base.invalid, ...other.invalid]);
  return list.length === 0 ? null : h("p", { class: "void" }, `Figures are void: ${list.join(", ")}.`);
}

/** Creates the answer: void figures, the gate, the result, and the number of figures by verdict. */
function resultElement(versus: Versus): HTMLElement {
  const { counts, gate } = versus;
  // The gate has its own line above.
  const answer = (versus.answer ?? []).map((text) => (gate ? text.replace(/; gate of [^;]*$/, "") : text));
  return h("div", { class: "result" },
    voidFigures(versus), gateLine(versus), ...answer.map((text, at) => h("p", { class: at === 0 ? "sentence headline" : "sentence" }, text)),
    h("ul", { class: "counts" }, ...JUDGEMENTS.filter((verdict) => counts[verdict] > 0 || verdict === "improved" || verdict === "regressed").map((verdict) =>
      h("li", { class: verdict }, verdictMark(verdict), h("strong", {}, String(counts[verdict])), ` ${verdictLabel(versus, verdict)}`))));
}

/** Creates the explanation of the differences: functions, parts of the time, counters. */
function explanationSection({ explanation }: VersusData): HTMLElement | null {
  if (!explanation) return null;
  return createSection("why", "Why", h("p", { class: "note" }, explanation.aid.replace(/^Why: /, "")),
    createTable({ head: explanation.head, rows: explanation.rows, words: 3 }, "What is behind the differences"));
}

function sidesList(data: VersusData, versus: Versus, choice: Choice): HTMLElement {
  const sideLine = (word: string, side: Side, name: string | undefined) => [
    h("dt", {}, word),
    h("dd", {}, side.label ? `${side.label} in ` : null,
      name == null ? side.run : h("a", { href: withShade(`/runs/${encodePart(name)}`, choice.theme) }, name),
      ` · ${formatDate(side.started_unix_ns)} · ${side.host} · ${side.trials} trial${side.trials === 1 ? "" : "s"} · kvdyno ${side.program}`,
      side.invalid.length > 0 ? h("span", { class: "void" }, ` · figures are void: ${side.invalid.join(", ")}`) : null),
  ];
  return h("dl", { class: "facts sides" }, ...sideLine("base", versus.base, data.between?.base), ...sideLine("new", versus.new, data.between?.new));
}

/** Creates the section of both sides and their differences. It comes after the figures: paths and hashes are long. */
function differencesSection(data: VersusData, versus: Versus, choice: Choice): HTMLElement {
  const list = versus.differences;
  return createSection("differences", "What differs", sidesList(data, versus, choice), list.length === 0
    ? h("p", {}, "Nothing that is known: host, drive, versions and options are the same.")
    : createTable({ head: ["", "base", "new"], words: 3, rows: list.map((one) => [one.subject, one.base, one.new]) }, "What differs"));
}

function createFilters(versus: Versus, choice: Choice, onChange: (choice: Choice) => void): HTMLElement {
  const rows = versus.pairs.flatMap((pair) => pair.rows);
  const names = unique(rows.map((row) => row.figure));
  const verdicts = JUDGEMENTS.filter((verdict) => versus.counts[verdict] > 0);
  const cases = unique(versus.pairs.map((pair) => pair.name));
  return h("nav", { class: "filters", "aria-label": "What is shown" },
    verdicts.length < 2 ? null : createFilterGroup("Verdicts", verdicts.map((verdict) => ({ key: verdict, label: [verdictMark(verdict), verdictLabel(versus, verdict)] })),
      choice.verdicts, (chosen) => onChange({ ...choice, verdicts: chosen })),
    cases.length < 2 ? null : createFilterGroup("Cases", cases.map((name) => ({ key: name, label: [name] })), choice.cases, (chosen) => onChange({ ...choice, cases: chosen })),
    names.length < 2 ? null : createFilterGroup("Figures", names.map((name) => ({ key: name, label: [figureTitle(name)] })), choice.figures, (chosen) => onChange({ ...choice, figures: chosen })));
}

function filterPairs(versus: Versus, choice: Choice): Pair[] {
  const matches = (list: string[], all: string[], value: string) => {
    const chosen = list.filter((one) => all.includes(one));
    return chosen.length === 0 || chosen.includes(value);
  };
  const cases = versus.pairs.map((pair) => pair.name), names = versus.pairs.flatMap((pair) => pair.rows.map((row) => row.figure));
  return versus.pairs
    .filter((pair) => matches(choice.cases, cases, pair.name))
    .map((pair) => ({ ...pair, rows: pair.rows.filter((row) => matches(choice.verdicts, JUDGEMENTS, row.verdict) && matches(choice.figures, names, row.figure)) }))
    .filter((pair) => pair.rows.length > 0);
}

function figuresSection(data: VersusData, versus: Versus, choice: Choice): HTMLElement {
  const pairs = filterPairs(versus, choice);
  const scale = ratioScale(versus.pairs.flatMap((pair) => pair.rows));
  const head = h("tr", {},
    h("th", { scope: "col" }, "figure"), h("th", { scope: "col", class: "number" }, versus.base.label ?? "base"), h("th", { scope: "col", class: "number" }, versus.new.label ?? "new"),
    h("th", { scope: "col", class: "plot" }, h("span", { class: "hidden" }, "plot of the ratio"), ratioAxis(scale)),
    h("th", { scope: "col", class: "number" }, "new / base"), h("th", { scope: "col", class: "number" }, "interval"), h("th", { scope: "col" }, "verdict"));
  const figureHelp = (figure: string) => data.definitions.find((one) => one.name === figure)?.help;
  const link = data.between && !data.between.all ? h("a", { href: withShade("?all", choice.theme) }, "All figures, and each operation by itself")
    : data.between ? h("a", { href: withShade(location.pathname, choice.theme) }, "Only the figures that most questions are about") : null;
  return createSection("figures", "Figures",
    h("p", { class: "note" }, "Ratios of new to base, with their intervals. ↑ more is better, ↓ less is better. ", link),
    pairs.length === 0 ? h("p", {}, "Nothing is left by these filters.") : h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures of both sides" },
      h("table", { class: "pairs" }, h("caption", { class: "hidden" }, "Figures of both sides"), h("thead", {}, head),
        ...pairs.map((pair) => h("tbody", {},
          h("tr", { class: "pair" }, h("th", { scope: "rowgroup", colspan: "7" }, pair.name, h("span", { class: "faint" }, ` · durability ${pair.durability}`))),
          ...pair.rows.map((row) => figureRow(versus, row, scale, figureHelp(row.figure))))))));
}

const ARROWS = { higher: "↑", lower: "↓", neither: "" };

/** Formats a sample as in the tables; with too few repeats its range. */
function formatSample(row: VersusRow, { value, n, min, max }: Sample): string {
  if (row.verdict === "too_few" && n > 1 && min != null && max != null) return `${formatValue(min, row.unit)} … ${formatValue(max, row.unit)}`;
  return value == null ? NONE : formatValue(value, row.unit);
}

const formatFineRatio = (value: number): string => (value >= 10 ? formatRatio(value) : value > 0 && value < 0.01 ? value.toPrecision(2) : value.toFixed(3));

function figureRow(versus: Versus, row: VersusRow, scale: Scale, help: string | undefined): HTMLElement {
  const interval = row.ratio_low == null || row.ratio_high == null ? NONE : `${formatFineRatio(row.ratio_low)} … ${formatFineRatio(row.ratio_high)}`;
  const numberCell = (text: string, name: string) => h("td", { class: `number ${name}`, "data-name": name }, text);
  // "Too few trials" applies to all rows and is explained once, below. No word appears twice: `equal within 3 %`.
  const word = verdictLabel(versus, row.verdict), suffix = row.reason?.startsWith(`${word} `) ? row.reason.slice(word.length) : "";
  const reason: Child = row.reason && !suffix && row.verdict !== "too_few" ? h("span", { class: "why" }, row.reason) : null;
  return h("tr", { "data-verdict": row.verdict },
    h("th", { scope: "row", title: help }, h("span", { class: "scope" }, row.scope), ` ${figureTitle(row.figure)}\u00a0`, h("span", { class: "way" }, ARROWS[row.direction])),
    numberCell(formatSample(row, row.base), "base"), numberCell(formatSample(row, row.new), "new"),
    h("td", { class: "plot" }, forestPlot(row, scale)),
    numberCell(row.ratio == null ? NONE : formatFineRatio(row.ratio), "ratio"), numberCell(interval, "range"),
    h("td", { class: `verdict ${row.verdict}` }, verdictMark(row.verdict), ` ${word}${suffix}`, reason));
}

function unpairedSection(versus: Versus): HTMLElement | null {
  if (versus.unpaired.length === 0) return null;
  return createSection("unpaired", "Left out", createTable({
    head: ["case", "in", "why"], words: 3, rows: versus.unpaired.map((one) => [one.name, one.in_base ? "base" : "new", one.reason]),
  }, "Cases without a counterpart"));
}

const AID = "Base and new are medians over trials, of several runs over runs (of percentiles, too, each trial's own). The ratio is new over base, "
  + "with Student's interval of 99 %: of one run the geometric mean of the ratios of its pairs, trial by trial; of several runs that of runs over runs. "
  + "Improved and regressed: the interval leaves 1 out. Equal: the whole interval is close to 1. Undecided: neither; the interval says how far apart they may be. "
  + "Described: not a primary figure, and not asked for by name.";

function remarksSection(data: VersusData): HTMLElement {
  let before = "";
  // A passed gate has its line above.
  const isShownAbove = ([word, text]: [string, string]) => word === "left out" || (word === "gate" && text.startsWith("passed"));
  const rows = data.remarks.filter((remark) => !isShownAbove(remark)).flatMap(([word, text]) => {
    const name = word === before ? "" : word;
    before = word;
    return [h("dt", {}, name), h("dd", {}, word === "gate" ? replaceFigureNames(text) : text)];
  });
  return createSection("method", "How sure this is", h("dl", { class: "facts" }, ...rows), h("p", { class: "note" }, AID),
    h("details", {}, h("summary", {}, "What each figure is"),
      createTable({ head: ["figure", "unit", "better", "what it is"], words: 4, rows: data.definitions.map((one) => [one.name, one.unit, one.direction, one.help]) }, "Figures")));
}
