// The page of a comparison: what differs, how much, and how sure that is.

import { appearance, linked, part, type Shade } from "../appearance";
import type { Judgement, Pair, Sample, Side, Versus, VersusData, VersusRow } from "../data";
import { h, type Child } from "../dom";
import { group } from "../filters";
import { axis, forest, JUDGEMENTS, scaleOf, verdictMark, WORDS, type Scale } from "../forest";
import { date, inUnit, NONE, ratio, reading } from "../format";
import { home } from "../live";
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
  const kicker = h("p", { class: "kicker" }, data.between ? home(choice.theme) : null, "kvdyno · comparison");
  const head = h("header", { class: "head row" }, h("div", {}, kicker, h("h1", {}, versus ? titleOf(versus) : "These cannot be compared")), button);
  document.title = `${versus ? titleOf(versus) : "Comparison"}: kvdyno`;
  if (!versus) {
    root.replaceChildren(head, h("p", { class: "refused", role: "alert" }, data.refused?.message ?? ""), h("p", {}, data.refused?.hint ?? ""));
    return;
  }
  const bar = h("div", { class: "filterbar still" }), figures = h("div", { id: "pairs" });
  const show = (): void => {
    const focused = (document.activeElement as HTMLElement | null)?.dataset["filter"];
    bar.replaceChildren(filters(versus, choice, (next) => {
      remember(next);
      show();
    }));
    if (focused != null) [...bar.querySelectorAll<HTMLElement>("[data-filter]")].find((one) => one.dataset["filter"] === focused)?.focus();
    figures.replaceChildren(paired(data, versus, choice));
  };
  const raw = h("button", { type: "button", class: "raw", click: () => download(new Blob([json], { type: "application/json" }), "comparison.json") },
    `The comparison as JSON (${Math.ceil(json.length / 1024)} KiB)`);
  root.replaceChildren(...[
    head, result(versus), sides(data, versus, choice), differences(versus), bar, figures, leftOut(versus), remarks(data),
    section("raw", "Raw data", raw),
  ].filter((one) => one !== null));
  show();
  addEventListener("hashchange", () => {
    choice = parse(location.hash);
    show();
  });
}

function titleOf({ base, new: other }: Versus): string {
  if (base.label != null && other.label != null) return `${other.label} beside ${base.label}`;
  return base.suite === other.suite ? `${other.suite}: two runs compared` : `${other.suite} beside ${base.suite}`;
}

const place = (row: VersusRow): string => [row.role ?? row.phase, row.op].filter((word) => word != null).join(" ");

/** By how much better or worse, as a share. */
function change(row: VersusRow): string {
  const value = row.ratio ?? 1;
  return value >= 2 || value <= 0.5 ? `${ratio(value)} times` : `${value >= 1 ? "+" : "−"}${(Math.abs(value - 1) * 100).toFixed(1)} %`;
}

function result(versus: Versus): HTMLElement {
  const { counts } = versus;
  const all = JUDGEMENTS.reduce((sum, verdict) => sum + counts[verdict], 0);
  const far = (row: VersusRow) => Math.abs(Math.log(row.ratio ?? 1));
  const rows = versus.pairs.flatMap((pair) => pair.rows.map((row) => ({ pair, row })));
  const most = (verdict: Judgement) => rows.filter(({ row }) => row.verdict === verdict).sort((a, b) => far(b.row) - far(a.row))[0];
  const named = (word: string, found: { pair: Pair; row: VersusRow } | undefined): string =>
    found ? ` ${word}: ${titled(found.row.figure)} of ${found.pair.name}${place(found.row) === "load" ? "" : `, ${place(found.row)}`} (${change(found.row)}).` : "";
  const sentence = counts.judged === 0
    ? `None of ${all} figures has trials enough to be judged.`
    : counts.improved + counts.regressed + counts.changed === 0
      ? `Of ${counts.judged} judged figures ${counts.undecided} undecided, ${counts.equal} equal.`
      : `Of ${counts.judged} judged figures ${counts.regressed || "none"} got worse and ${counts.improved || "none"} got better${counts.changed > 0 ? `, ${counts.changed} changed` : ""}; ${counts.undecided} undecided, ${counts.equal} equal.`;
  return h("div", { class: "result" },
    h("ul", { class: "counts" }, ...JUDGEMENTS.filter((verdict) => counts[verdict] > 0 || verdict === "improved" || verdict === "regressed").map((verdict) =>
      h("li", { class: verdict }, verdictMark(verdict), h("strong", {}, String(counts[verdict])), ` ${WORDS[verdict]}`))),
    h("p", { class: "sentence" }, sentence + named("The worst", most("regressed")) + named("The best", most("improved"))));
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

function differences(versus: Versus): HTMLElement {
  const list = versus.differences;
  if (list.length === 0) return section("differences", "What differs", h("p", {}, "Nothing that is known: host, drive, versions and options are the same."));
  return section("differences", "What differs", table({ head: ["", "base", "new"], words: 3, rows: list.map((one) => [one.what, one.base, one.new]) }, "What differs"));
}

function filters(versus: Versus, choice: Choice, changed: (choice: Choice) => void): HTMLElement {
  const rows = versus.pairs.flatMap((pair) => pair.rows);
  const names = unique(rows.map((row) => row.figure));
  const verdicts = JUDGEMENTS.filter((verdict) => versus.counts[verdict] > 0);
  const cases = unique(versus.pairs.map((pair) => pair.name));
  return h("nav", { class: "filters", "aria-label": "What is shown" },
    verdicts.length < 2 ? null : group("Verdicts", verdicts.map((verdict) => ({ key: verdict, label: [verdictMark(verdict), WORDS[verdict]] })),
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
    h("th", { scope: "col" }, "figure"), h("th", { scope: "col", class: "number" }, "base"), h("th", { scope: "col", class: "number" }, "new"),
    h("th", { scope: "col", class: "plot" }, h("span", { class: "hidden" }, "plot of the ratio"), axis(scale)),
    h("th", { scope: "col", class: "number" }, "new / base"), h("th", { scope: "col", class: "number" }, "interval"), h("th", { scope: "col" }, "verdict"));
  const help = (figure: string) => data.definitions.find((one) => one.name === figure)?.help;
  const more = data.between && !data.between.all ? h("a", { href: linked("?all", choice.theme) }, "All figures, and each operation by itself")
    : data.between ? h("a", { href: linked(location.pathname, choice.theme) }, "Only the figures that most questions are about") : null;
  return section("figures", "Figures",
    h("p", { class: "note" }, "Medians over trials, and their ratio with its interval on a logarithmic axis; the shaded band is noise, within which no difference is claimed. ↑ more is better, ↓ less is better. ", more),
    pairs.length === 0 ? h("p", {}, "Nothing is left by these filters.") : h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures of both sides" },
      h("table", { class: "pairs" }, h("caption", { class: "hidden" }, "Figures of both sides"), h("thead", {}, head),
        ...pairs.map((pair) => h("tbody", {},
          h("tr", { class: "pair" }, h("th", { scope: "rowgroup", colspan: "7" }, pair.name, h("span", { class: "faint" }, ` · durability ${pair.durability}`))),
          ...pair.rows.map((row) => line(row, scale, help(row.figure))))))));
}

const ARROWS = { higher: "↑", lower: "↓", neither: "" };

/** The median; where nothing can be claimed, the range. */
function sample(row: VersusRow, { median, n, min, max }: Sample): string {
  if (row.verdict === "too_few_trials" && n > 1 && min != null && max != null) return `${inUnit(min, row.unit)} … ${inUnit(max, row.unit)}`;
  return median == null ? NONE : reading(median, row.unit);
}

const fine = (value: number): string => (value < 10 ? value.toFixed(3) : ratio(value));

function line(row: VersusRow, scale: Scale, help: string | undefined): HTMLElement {
  const interval = row.ratio_low == null || row.ratio_high == null ? NONE : `${fine(row.ratio_low)} … ${fine(row.ratio_high)}`;
  const number = (text: string, name: string) => h("td", { class: `number ${name}`, "data-name": name }, text);
  // Too few trials are too few everywhere: that is said once, below.
  const why: Child = row.why && row.verdict !== "too_few_trials" ? h("span", { class: "why" }, row.why) : null;
  return h("tr", { "data-verdict": row.verdict },
    h("th", { scope: "row", title: help }, h("span", { class: "place" }, place(row)), ` ${titled(row.figure)} `, h("span", { class: "way" }, ARROWS[row.direction])),
    number(sample(row, row.base), "base"), number(sample(row, row.new), "new"),
    h("td", { class: "plot" }, forest(row, scale)),
    number(row.ratio == null ? NONE : fine(row.ratio), "ratio"), number(interval, "range"),
    h("td", { class: `verdict ${row.verdict}` }, verdictMark(row.verdict), ` ${WORDS[row.verdict]}`, why));
}

function leftOut(versus: Versus): HTMLElement | null {
  if (versus.unpaired.length === 0) return null;
  return section("unpaired", "Left out", table({
    head: ["case", "in", "why"], words: 3, rows: versus.unpaired.map((one) => [one.name, one.in_base ? "base" : "new", one.why]),
  }, "Cases without a counterpart"));
}

const AID = "Base and new are medians over trials (of percentiles, too, each trial's own); the ratio is new over base, with its interval: of 95 %, by the bootstrap; below 6 trials a side from the least to the most that one trial over another comes to. "
  + "Improved and regressed: the interval leaves 1 out, a rank test says p < 0.05, and the difference is larger than the noise. "
  + "Equal: the whole interval is within 2 % of 1. Undecided: neither; the interval says how far apart they may be.";

function remarks(data: VersusData): HTMLElement {
  let before = "";
  const rows = data.remarks.filter(([word]) => word !== "left out").flatMap(([word, text]) => {
    const name = word === before ? "" : word;
    before = word;
    return [h("dt", {}, name), h("dd", {}, text)];
  });
  return section("method", "How sure this is", h("dl", { class: "facts" }, ...rows), h("p", { class: "note" }, AID),
    h("details", {}, h("summary", {}, "What each figure is"),
      table({ head: ["figure", "unit", "better", "what it is"], words: 4, rows: data.definitions.map((one) => [one.name, one.unit, one.direction, one.help]) }, "Figures")));
}
