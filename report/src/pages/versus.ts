// The page of a comparison: what differs, how much, and how sure that is.

import { appearance, linked, part, type Shade } from "../appearance";
import type { Judgement, Pair, Sample, Side, Versus, VersusData, VersusRow } from "../data";
import { h, keepFocus, type Child } from "../dom";
import { group } from "../filters";
import { axis, forest, JUDGEMENTS, scaleOf, verdictMark, WORDS, type Scale } from "../forest";
import { date, inUnit, NONE, ratio, reading } from "../format";
import { home } from "../live";
import { moves } from "../moves";
import { unique } from "../model";
import { download } from "../save";
import { section } from "../sections";
import { table } from "../table";
import { titled } from "../titles";

interface Choice {
  verdicts: string[];
  cases: string[];
  figures: string[];
  theme: Shade | null;
}

const FILTERS = [["verdict", "verdicts"], ["case", "cases"], ["figure", "figures"]] as const;

function parse(hash: string): Choice {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  const theme = parameters.get("theme");
  const [verdicts, cases, figures] = FILTERS.map(([name]) => parameters.getAll(name)) as [string[], string[], string[]];
  return { verdicts, cases, figures, theme: theme === "light" || theme === "dark" ? theme : null };
}

function write(choice: Choice): string {
  const parameters = new URLSearchParams();
  for (const [name, list] of FILTERS) for (const value of choice[list]) parameters.append(name, value);
  if (choice.theme) parameters.set("theme", choice.theme);
  const text = parameters.toString();
  return text ? `#${text}` : "";
}

export function versus(root: HTMLElement, data: VersusData, json: string): void {
  let choice = parse(location.hash);
  const remember = (next: Choice): void => {
    choice = next;
    history.replaceState(null, "", write(choice) || location.pathname + location.search);
  };
  const button = appearance(() => choice.theme, (theme) => remember({ ...choice, theme }));
  const { versus } = data;
  const kicker = h("p", { class: "kicker" }, data.between ? home(choice.theme) : null, `kvdyno · comparison${versus ? ` · ${trialsOf(versus)}` : ""}`);
  const head = h("header", { class: "head row" }, h("div", {}, kicker, h("h1", {}, versus ? titleOf(versus) : "These cannot be compared")), button);
  document.title = `${versus ? titleOf(versus) : "Comparison"}: kvdyno`;
  if (!versus) {
    root.replaceChildren(head, h("p", { class: "refused", role: "alert" }, data.refused?.message ?? ""), h("p", {}, data.refused?.hint ?? ""));
    return;
  }
  const bar = h("div", { class: "filterbar still" }), figures = h("div", { id: "pairs" });
  const show = (): void => {
    keepFocus(bar, "filter", () => bar.replaceChildren(filters(versus, choice, (next) => {
      remember(next);
      show();
    })));
    figures.replaceChildren(paired(data, versus, choice));
  };
  const raw = h("button", { type: "button", class: "raw", click: () => download(new Blob([json], { type: "application/json" }), "comparison.json") },
    `The comparison as JSON (${Math.ceil(json.length / 1024)} KiB)`);
  root.replaceChildren(...[
    head, result(versus), explanation(data), bar, figures, moves(data.profiles, versus.base.label ?? "base"), leftOut(versus), remarks(data), differences(data, versus, choice),
    section("raw", "Raw data", raw),
  ].filter((one) => one !== null));
  show();
  addEventListener("hashchange", () => {
    choice = parse(location.hash);
    show();
  });
}

function titleOf({ base, new: other }: Versus): string {
  if (base.label != null && other.label != null) return `${other.label} against ${base.label}`;
  return base.suite === other.suite ? `${other.suite}: two runs compared` : `${other.suite} against ${base.suite}`;
}

/** `LMDB 6 trials, RocksDB 6 trials`. */
function trialsOf({ base, new: other }: Versus): string {
  const words = (word: string, side: Side) => `${side.label ?? word} ${side.trials} trial${side.trials === 1 ? "" : "s"}`;
  return `${words("base", base)}, ${words("new", other)}`;
}

/** What a verdict is called: of two engines one is better, and neither has got worse. */
function wordOf({ base, new: other }: Versus, verdict: Judgement): string {
  if (base.label == null || other.label == null) return WORDS[verdict];
  return verdict === "improved" ? `${other.label} better` : verdict === "regressed" ? `${base.label} better` : WORDS[verdict];
}

/** Names of figures, as the page says them, in a sentence of the program's. */
const inTitles = (text: string): string => text.replace(/\b[a-z0-9]+(?:_[a-z0-9]+)+\b/g, titled);

/** So many figures of a gate are named above all; the others stand below. */
const NAMED = 3;

/** What came of the gate, first of all. */
function gateLine({ gate, base, new: other }: Versus): HTMLElement | null {
  if (!gate) return null;
  const share = `${Number((gate.allowed * 100).toPrecision(3))} %`, [count, engines] = [gate.regressed.length, base.label != null && other.label != null];
  const what = `${count} figure${count === 1 ? "" : "s"}`, more = count > NAMED ? `; and ${count - NAMED} more` : "";
  const named = `${gate.regressed.slice(0, NAMED).map(inTitles).join("; ")}${more}`;
  const words = {
    passed: ["Gate passed", engines ? `${other.label} is not worse than ${base.label} by more than ${share}.` : `nothing regressed by more than ${share}.`],
    undecided: ["Gate undecided", `no figure is certainly worse by more than ${share}, but some may be: more trials would decide.`],
    failed: ["Gate failed", `${engines ? `${other.label} is worse than ${base.label} by more than ${share} in ${what}` : `${what} regressed by more than ${share}`}: ${named}.`],
    cannot_judge: ["Gate cannot judge", `no figure is known to be worse by more than ${share}, but some could not be judged.`],
  }[gate.result];
  return h("p", { class: `gate ${gate.result}` }, h("strong", {}, words[0] ?? ""), `: ${words[1] ?? ""}`);
}

/** What makes figures void, of either side. */
function voids({ base, new: other }: Versus): HTMLElement | null {
  const list = unique([...base.invalid, ...other.invalid]);
  return list.length === 0 ? null : h("p", { class: "void" }, `Figures are void: ${list.join(", ")}.`);
}

/** The answer: what makes figures void, the gate, what it comes to, and how many of each verdict. */
function result(versus: Versus): HTMLElement {
  const { counts, gate } = versus;
  // What came of the gate stands above.
  const answer = (versus.answer ?? []).map((text) => (gate ? text.replace(/; gate of [^;]*$/, "") : text));
  return h("div", { class: "result" },
    voids(versus), gateLine(versus), ...answer.map((text, at) => h("p", { class: at === 0 ? "sentence headline" : "sentence" }, text)),
    h("ul", { class: "counts" }, ...JUDGEMENTS.filter((verdict) => counts[verdict] > 0 || verdict === "improved" || verdict === "regressed").map((verdict) =>
      h("li", { class: verdict }, verdictMark(verdict), h("strong", {}, String(counts[verdict])), ` ${wordOf(versus, verdict)}`))));
}

/** What is behind the differences: functions, parts of the time, counters. */
function explanation({ explanation }: VersusData): HTMLElement | null {
  if (!explanation) return null;
  return section("why", "Why", h("p", { class: "note" }, explanation.aid.replace(/^Why: /, "")),
    table({ head: explanation.head, rows: explanation.rows, words: 3 }, "What is behind the differences"));
}

function sides(data: VersusData, versus: Versus, choice: Choice): HTMLElement {
  const line = (word: string, side: Side, name: string | undefined) => [
    h("dt", {}, word),
    h("dd", {}, side.label ? `${side.label} in ` : null,
      name == null ? side.run : h("a", { href: linked(`/runs/${part(name)}`, choice.theme) }, name),
      ` · ${date(side.started_unix_ns)} · ${side.host} · ${side.trials} trial${side.trials === 1 ? "" : "s"} · kvdyno ${side.program}`,
      side.invalid.length > 0 ? h("span", { class: "void" }, ` · figures are void: ${side.invalid.join(", ")}`) : null),
  ];
  return h("dl", { class: "facts sides" }, ...line("base", versus.base, data.between?.base), ...line("new", versus.new, data.between?.new));
}

/** The two sides, and what they do not share: after the figures, for paths and sums fill screens. */
function differences(data: VersusData, versus: Versus, choice: Choice): HTMLElement {
  const list = versus.differences;
  return section("differences", "What differs", sides(data, versus, choice), list.length === 0
    ? h("p", {}, "Nothing that is known: host, drive, versions and options are the same.")
    : table({ head: ["", "base", "new"], words: 3, rows: list.map((one) => [one.subject, one.base, one.new]) }, "What differs"));
}

function filters(versus: Versus, choice: Choice, changed: (choice: Choice) => void): HTMLElement {
  const rows = versus.pairs.flatMap((pair) => pair.rows);
  const names = unique(rows.map((row) => row.figure));
  const verdicts = JUDGEMENTS.filter((verdict) => versus.counts[verdict] > 0);
  const cases = unique(versus.pairs.map((pair) => pair.name));
  return h("nav", { class: "filters", "aria-label": "What is shown" },
    verdicts.length < 2 ? null : group("Verdicts", verdicts.map((verdict) => ({ key: verdict, label: [verdictMark(verdict), wordOf(versus, verdict)] })),
      choice.verdicts, (chosen) => changed({ ...choice, verdicts: chosen })),
    cases.length < 2 ? null : group("Cases", cases.map((name) => ({ key: name, label: [name] })), choice.cases, (chosen) => changed({ ...choice, cases: chosen })),
    names.length < 2 ? null : group("Figures", names.map((name) => ({ key: name, label: [titled(name)] })), choice.figures, (chosen) => changed({ ...choice, figures: chosen })));
}

function shown(versus: Versus, choice: Choice): Pair[] {
  const wants = (list: string[], all: string[], value: string) => {
    const known = list.filter((one) => all.includes(one));
    return known.length === 0 || known.includes(value);
  };
  const cases = versus.pairs.map((pair) => pair.name), names = versus.pairs.flatMap((pair) => pair.rows.map((row) => row.figure));
  return versus.pairs
    .filter((pair) => wants(choice.cases, cases, pair.name))
    .map((pair) => ({ ...pair, rows: pair.rows.filter((row) => wants(choice.verdicts, JUDGEMENTS, row.verdict) && wants(choice.figures, names, row.figure)) }))
    .filter((pair) => pair.rows.length > 0);
}

function paired(data: VersusData, versus: Versus, choice: Choice): HTMLElement {
  const pairs = shown(versus, choice);
  const scale = scaleOf(versus.pairs.flatMap((pair) => pair.rows));
  const head = h("tr", {},
    h("th", { scope: "col" }, "figure"), h("th", { scope: "col", class: "number" }, versus.base.label ?? "base"), h("th", { scope: "col", class: "number" }, versus.new.label ?? "new"),
    h("th", { scope: "col", class: "plot" }, h("span", { class: "hidden" }, "plot of the ratio"), axis(scale)),
    h("th", { scope: "col", class: "number" }, "new / base"), h("th", { scope: "col", class: "number" }, "interval"), h("th", { scope: "col" }, "verdict"));
  const help = (figure: string) => data.definitions.find((one) => one.name === figure)?.help;
  const more = data.between && !data.between.all ? h("a", { href: linked("?all", choice.theme) }, "All figures, and each operation by itself")
    : data.between ? h("a", { href: linked(location.pathname, choice.theme) }, "Only the figures that most questions are about") : null;
  return section("figures", "Figures",
    h("p", { class: "note" }, "Ratios of new to base, with their intervals. ↑ more is better, ↓ less is better. ", more),
    pairs.length === 0 ? h("p", {}, "Nothing is left by these filters.") : h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures of both sides" },
      h("table", { class: "pairs" }, h("caption", { class: "hidden" }, "Figures of both sides"), h("thead", {}, head),
        ...pairs.map((pair) => h("tbody", {},
          h("tr", { class: "pair" }, h("th", { scope: "rowgroup", colspan: "7" }, pair.name, h("span", { class: "faint" }, ` · durability ${pair.durability}`))),
          ...pair.rows.map((row) => line(versus, row, scale, help(row.figure))))))));
}

const ARROWS = { higher: "↑", lower: "↓", neither: "" };

/** As in the tables; where nothing can be claimed, the range. */
function sample(row: VersusRow, { value, n, min, max }: Sample): string {
  if (row.verdict === "too_few" && n > 1 && min != null && max != null) return `${inUnit(min, row.unit)} … ${inUnit(max, row.unit)}`;
  return value == null ? NONE : reading(value, row.unit);
}

const fine = (value: number): string => (value >= 10 ? ratio(value) : value > 0 && value < 0.01 ? value.toPrecision(2) : value.toFixed(3));

function line(versus: Versus, row: VersusRow, scale: Scale, help: string | undefined): HTMLElement {
  const interval = row.ratio_low == null || row.ratio_high == null ? NONE : `${fine(row.ratio_low)} … ${fine(row.ratio_high)}`;
  const number = (text: string, name: string) => h("td", { class: `number ${name}`, "data-name": name }, text);
  // Too few trials are too few everywhere: that is said once, below. And no word twice: `equal within 3 %`.
  const word = wordOf(versus, row.verdict), more = row.reason?.startsWith(`${word} `) ? row.reason.slice(word.length) : "";
  const why: Child = row.reason && !more && row.verdict !== "too_few" ? h("span", { class: "why" }, row.reason) : null;
  return h("tr", { "data-verdict": row.verdict },
    h("th", { scope: "row", title: help }, h("span", { class: "scope" }, row.scope), ` ${titled(row.figure)}\u00a0`, h("span", { class: "way" }, ARROWS[row.direction])),
    number(sample(row, row.base), "base"), number(sample(row, row.new), "new"),
    h("td", { class: "plot" }, forest(row, scale)),
    number(row.ratio == null ? NONE : fine(row.ratio), "ratio"), number(interval, "range"),
    h("td", { class: `verdict ${row.verdict}` }, verdictMark(row.verdict), ` ${word}${more}`, why));
}

function leftOut(versus: Versus): HTMLElement | null {
  if (versus.unpaired.length === 0) return null;
  return section("unpaired", "Left out", table({
    head: ["case", "in", "why"], words: 3, rows: versus.unpaired.map((one) => [one.name, one.in_base ? "base" : "new", one.reason]),
  }, "Cases without a counterpart"));
}

const AID = "Base and new are medians over trials, of several runs over runs (of percentiles, too, each trial's own). The ratio is new over base, "
  + "with Student's interval of 99 %: of one run the geometric mean of the ratios of its pairs, trial by trial; of several runs that of runs over runs. "
  + "Improved and regressed: the interval leaves 1 out. Equal: the whole interval is close to 1. Undecided: neither; the interval says how far apart they may be. "
  + "Described: not a primary figure, and not asked for by name.";

function remarks(data: VersusData): HTMLElement {
  let before = "";
  // A gate that passed has its line above.
  const above = ([word, text]: [string, string]) => word === "left out" || (word === "gate" && text.startsWith("passed"));
  const rows = data.remarks.filter((remark) => !above(remark)).flatMap(([word, text]) => {
    const name = word === before ? "" : word;
    before = word;
    return [h("dt", {}, name), h("dd", {}, word === "gate" ? inTitles(text) : text)];
  });
  return section("method", "How sure this is", h("dl", { class: "facts" }, ...rows), h("p", { class: "note" }, AID),
    h("details", {}, h("summary", {}, "What each figure is"),
      table({ head: ["figure", "unit", "better", "what it is"], words: 4, rows: data.definitions.map((one) => [one.name, one.unit, one.direction, one.help]) }, "Figures")));
}
