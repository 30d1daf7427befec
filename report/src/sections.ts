// The parts of the page that are words: title, answers, findings, host, engines, method, suite.

import type { Claim, EngineInfo, Finding, Host, PageData, Severity, Verdicts } from "./data";
import { h, type Child } from "./dom";
import { bytes, capital, date, duration } from "./format";
import { unique, withoutPart, type Model } from "./model";
import { stacked, table } from "./table";

export const section = (id: string, heading: string, ...children: Child[]): HTMLElement =>
  h("section", { id, "aria-label": heading }, h("h2", {}, heading), ...children);

/** What was asked; where the suite does not say, what the run is called. */
export const titleOf = (data: PageData): string => {
  const { run } = data.summary;
  return run.title || run.name || run.suite;
};

/** For the window's title: what whoever ran it calls it stands before the question. */
export const windowTitle = (data: PageData): string => unique([data.summary.run.name || titleOf(data), titleOf(data)]).join(": ");

export function head(data: PageData, home: Child = null): HTMLElement {
  const { run } = data.summary;
  const undone = run.cases_planned - run.cases_done;
  const state = run.complete ? `${run.cases_done} of ${run.cases_planned} cases done${undone > 0 ? `, ${undone} not` : ""}`
    : `${data.live?.state === "running" ? "running" : "partial"}: ${run.cases_recorded} of ${run.cases_planned} cases`;
  const title = titleOf(data);
  return h("header", { class: "head" },
    h("p", { class: "kicker" }, home, "kvdyno · ", run.name && run.name !== title ? h("strong", { class: "name" }, run.name) : null,
      run.name && run.name !== title ? " · " : null, `${run.suite} · ${date(run.started_unix_ns)} · ${state}`),
    h("h1", {}, title),
    run.note ? h("p", { class: "remark" }, run.note) : null,
    h("p", { class: "setting" }, setting(data)),
    notHeld(data) ? h("p", { class: "broken" }, "The RAM limit was not held: what the title says of RAM is not so.") : null);
}

/** Engines with their versions, class by class, and the data. */
function setting(data: PageData): string {
  const engines = data.summary.engines.filter((info) => !info.worker?.bare_drive && !info.worker?.stores_nothing);
  // Of a bare drive: which one.
  return [...classWords(engines), ...dataWords(data), ...(engines.length === 0 ? [hostWords(data.summary.host)] : [])].join(" · ");
}

/** `LMDB 0.9.70`: an engine with its version. */
function versionWords(info: EngineInfo): string {
  const label = withoutPart(info), title = info.worker?.title ?? label;
  const name = label === info.engine || label === title ? title : `${label} (${title})`;
  return `${name} ${info.worker?.version ?? ""}`.trim();
}

/** `durability commit: LMDB 0.9.70 · RocksDB 11.8.1`, for each class. */
export const classWords = (engines: EngineInfo[]): string[] => unique(engines.map((info) => info.durability)).map((durability) =>
  `durability ${durability}: ${unique(engines.filter((info) => info.durability === durability).map(versionWords)).join(" · ")}`);

/** `2 x AMD EPYC, 23.5 GiB, ext4 on vda (virtual)`: as the terminal says it. */
export function hostWords({ machine, filesystem, drive }: Host): string {
  const model = machine.cpu_model.replace(/\((R|TM)\)/g, "").split(" CPU @")[0]?.replace(/ Processor$/, "").trim() ?? "";
  const on = drive ? ` on ${drive.name}${machine.virtual_machine ? " (virtual)" : ""}` : "";
  return `${machine.cpus} x ${model}, ${bytes(machine.memory_bytes)}${filesystem ? `, ${filesystem.kind}` : ""}${on}`;
}

/** How much data, and within how much RAM: nothing twice, whatever a run has several of. */
export function dataWords(data: Pick<PageData, "header">): string[] {
  const lines = unique(data.header.filter(([word]) => word === "data").map(([, text]) => text));
  const sizes = new Map<string, string[]>();
  for (const line of lines) {
    const [size = "", ...ram] = line.split(/, (?=RAM |no RAM )/);
    sizes.set(size, [...(sizes.get(size) ?? []), ...ram]);
  }
  return [...sizes].map(([size, rams]) => [size, rams.join("; ")].filter((text) => text !== "").join(", "));
}

const notHeld = (data: PageData): boolean => data.summary.groups.some((group) => group.ram_limit_held === false);

function ramWords(data: PageData): string {
  if (notHeld(data)) return "; the RAM limit was not held";
  const limited = data.summary.groups.some((group) => group.ram_limit_bytes != null);
  return limited ? ", within a RAM limit that holds its page cache as well" : ", without a RAM limit";
}

/** What came out in one line, and what is decided; then a sentence for each workload. */
export function answers(data: PageData, whole: Model): HTMLElement | null {
  const { verdicts, disturbance = null } = data.summary;
  const works = whole.works.filter((work) => !work.drive);
  const at = (workload: string) => works.findIndex((work) => workload === work.phase || workload.startsWith(`${work.phase},`) || workload.startsWith(`${work.phase} `));
  const lines = headlines(data);
  // What was measured comes before what it was measured on. The answer to a search is the headline already.
  const told = data.answers.filter(({ sentence }) => !lines.some(({ line }) => line === sentence)).map((answer) => ({ ...answer, at: at(answer.workload) })).sort((a, b) => (a.at < 0 ? 0 : a.at) - (b.at < 0 ? 0 : b.at));
  const named = ({ workload, at }: { workload: string; at: number }) => {
    const work = works[at];
    if (!work) return workload;
    return workload === work.phase ? work.name.split(", RAM ")[0] ?? work.name : work.title + workload.slice(work.phase.length);
  };
  const list = h("dl", { class: "answers" }, ...told.flatMap((answer) => [h("dt", {}, named(answer)), h("dd", {}, answer.sentence)]));
  // Below the answer a sentence for each workload: the same with intervals, to be unfolded.
  const rest = told.length === 0 ? null : lines.length > 0 ? h("details", {}, h("summary", {}, `In sentences: ${plural(told.length, "workload")}`), list) : list;
  if (lines.length === 0 && !rest && verdicts.figures === 0 && !disturbance) return null;
  return h("div", { class: "result-top" },
    lines.length === 0 && !rest ? null : h("div", { class: "answer" }, ...lines.flatMap(({ line, aside }) => [h("p", { class: "headline" }, line), aside ? h("p", { class: "note" }, aside) : null]), rest),
    verdicts.figures > 0 || disturbance ? decided(verdicts, disturbance) : null);
}

/** The answer in a line, and what came of the suite's claims; below each what is to be said of it. */
function headlines(data: PageData): { line: string; aside: string }[] {
  const { claims = [], answer = [] } = data.summary;
  const [headline] = answer;
  return [
    ...(claims.length > 0 ? [{ line: claimWords(claims), aside: claimReasons(claims) }] : []),
    ...(headline ? [{ line: headline, aside: "" }] : []),
  ];
}

/** So many reasons are named; the table has all. */
const REASONS = 3;

/** `0 of 15 claims hold, 2 do not, 13 are undecided.` */
export function claimWords(claims: Claim[]): string {
  const count = (verdict: Claim["verdict"]) => claims.filter((claim) => claim.verdict === verdict).length;
  const [holds, not, unknown] = [count("holds"), count("does_not_hold"), count("undecided")];
  return `${holds} of ${plural(claims.length, "claim")} ${holds === 1 ? "holds" : "hold"}, ${not} ${not === 1 ? "does" : "do"} not${unknown > 0 ? `, ${unknown} ${unknown === 1 ? "is" : "are"} undecided` : ""}.`;
}

/** Why claims are undecided, the most frequent reason first: `it needs 33 processors: here are 2 (3)`. */
export function claimReasons(claims: Claim[]): string {
  const reasons = new Map<string, number>();
  for (const { verdict, reason } of claims) if (verdict === "undecided" && reason) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const most = [...reasons].sort((a, b) => b[1] - a[1]).map(([why, count]) => (count > 1 ? `${why} (${count} claims)` : why));
  const more = most.length > REASONS ? `; and ${most.length - REASONS} more reasons` : "";
  return most.length === 0 ? "" : `Undecided: ${most.slice(0, REASONS).join("; ")}${more}.`;
}

/** The undecided figures that are named at once; the others open. */
const OPEN = 3;

/** `8 of 9 figures decided`, `all 9 figures decided`: the words of the program's own `verdicts`. */
export function verdictWords({ figures, undecided }: Verdicts): string {
  if (figures === 0) return "";
  if (undecided.length > 0) return `${figures - undecided.length} of ${figures} figures decided`;
  return figures === 1 ? "1 figure decided" : `all ${figures} figures decided`;
}

/** `about 6 more pairs`: what would decide. */
export const moreWords = (more: number | null): string =>
  more === null ? "over 1,000 more pairs" : `about ${plural(more, "more pair")}`;

/** The undecided figures; those of one name, of several sizes of RAM or parts, in a line. */
export function openWords({ undecided }: Verdicts): string[] {
  const named = undecided.map((figure) => `${figure.label} ${figure.scope} (${moreWords(figure.more_pairs)})`);
  return unique(named).map((words) => {
    const count = named.filter((other) => other === words).length;
    return count > 1 ? `${words.slice(0, -1)}; ${count} figures)` : words;
  });
}

function decided(verdicts: Verdicts, disturbance: string | null): HTMLElement {
  const items = openWords(verdicts).map((words) => h("li", {}, h("span", {}, words)));
  const words = verdictWords(verdicts);
  return h("div", { class: `verdicts ${items.length > 0 || disturbance ? "open" : "decided"}`, role: "note", "aria-label": "Verdicts" },
    disturbance ? h("p", { class: "level" }, `${capital(disturbance)}.`) : null,
    words ? h("p", { class: "level" }, capital(words), items.length > 0 ? "; undecided:" : ".") : null,
    items.length > 0 ? h("ul", {}, ...items.slice(0, OPEN)) : null,
    items.length > OPEN ? h("details", {}, h("summary", {}, `${items.length - OPEN} more`), h("ul", {}, ...items.slice(OPEN))) : null);
}

const WORDS: Record<Severity, string> = { invalid: "invalid", warning: "warning", info: "note" };

/** What findings are about, in the order in which they are counted; all others: method. */
const ABOUT: [about: string, ids: RegExp][] = [
  ["CPU", /^(cpu-|bound-by-cpu|load-generator-share|tail-below-load-generator|assertions-on|debug-build)/],
  ["machine", /^(data-dir-|drive-|readahead-|busy-host|concurrent-run|foreign-io|swap-on|damon-on|memory-limit|io-limit|discard-|clock-|slow-clock|small-against)/],
  ["workload", /^(writers-|writes-|not-steady|not-settled|open-loop|operations-|cases-|does-not-fit|commit-|above-ceiling|bound-by|database-|keys-|values-|verify-|data-)/],
];

const aboutOf = (finding: Finding): string => ABOUT.find(([, ids]) => ids.test(finding.id))?.[0] ?? "method";

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

/** `10 warnings: 4 machine, 4 workload, 2 CPU`. */
export function counted(list: Finding[], word: string): string {
  const counts = new Map<string, number>();
  for (const finding of list) counts.set(aboutOf(finding), (counts.get(aboutOf(finding)) ?? 0) + 1);
  const parts = [...counts].sort((a, b) => b[1] - a[1]).map(([about, count]) => `${count} ${about}`);
  return list.length === 0 ? `No ${word}s` : `${plural(list.length, word)}: ${parts.join(", ")}`;
}

/** One line that opens; what voids figures is never folded. */
export function findings(data: PageData): HTMLElement {
  const list = data.summary.findings;
  const of = (severity: Severity) => list.filter((finding) => finding.severity === severity);
  const item = (finding: Finding) => h("li", { class: `finding ${finding.severity}` },
    h("span", { class: "severity" }, WORDS[finding.severity]),
    h("div", {},
      h("p", {}, h("code", {}, finding.id), " ", finding.evidence, finding.cases.length > 1 ? ` (${finding.cases.length} cases)` : ""),
      h("p", { class: "advice" }, finding.advice)));
  const [invalid, warnings, notes] = [of("invalid"), of("warning"), of("info")];
  const fold = (name: string, list: Finding[], word: string) => list.length === 0 ? h("p", { class: name }, `No ${word}s.`)
    : h("details", { class: name }, h("summary", {}, counted(list, word)), h("ul", { class: "findings" }, ...list.map(item)));
  return h("section", { id: "findings", "aria-label": "Findings" },
    invalid.length > 0 ? h("ul", { class: "findings grave" }, ...invalid.map(item)) : null,
    fold("warnings", warnings, "warning"), notes.length > 0 ? fold("notes", notes, "note") : null);
}

/** What the suite asks for and this machine could not do: cells that stay empty. */
export function notHere(data: PageData): HTMLElement | null {
  const told = data.header.filter(([word]) => word === NOT_HERE).map(([, text]) => text);
  return told.length === 0 ? null : section("not-here", "Not run here",
    h("p", { class: "note" }, "This machine lacks what these parts of the suite need; their cells stay empty."),
    h("ul", {}, ...told.map((text) => h("li", {}, text))));
}

/** Its word among the lines that say what was measured where. */
const NOT_HERE = "not here";

/** As the terminal says it; engines have a table of their own. */
export function host(data: PageData): HTMLElement {
  // Of a run at work it says that it did not end; how it gets on stands above.
  const elsewhere = ["engine", "not known", "suite", NOT_HERE, data.live?.state === "running" ? "run" : ""];
  const lines = data.header.filter(([word]) => !elsewhere.includes(word));
  let before = "";
  const rows = lines.flatMap(([word, text]) => {
    const name = word === before ? "" : word;
    before = word;
    return [h("dt", {}, name), h("dd", {}, text)];
  });
  return section("host", "Machine and engines", h("dl", { class: "facts" }, ...rows), engines(data.summary.engines));
}

/** A worker of the bare drive once, however many jobs it has. */
const once = (list: EngineInfo[]): EngineInfo[] => list.filter((info, at) =>
  !info.worker?.bare_drive || at === list.findIndex((other) => other.engine === info.engine && other.worker?.bare_drive));

function engines(all: EngineInfo[]): HTMLElement {
  const build = (info: EngineInfo) => Object.entries(info.worker?.build ?? {}).map(([name, value]) => `${name} ${value}`).join(", ");
  const rowOf = (info: EngineInfo) => {
    const label = withoutPart(info);
    return [
      info.worker?.bare_drive ? info.worker.title : info.worker?.title && info.worker.title !== label ? `${label} = ${info.worker.title}` : label,
      info.worker?.version ?? "no worker was found", info.durability,
      info.worker?.durability_settings ?? "", info.changed.join(", ") || "none", build(info),
    ];
  };
  // The same in several parts of a suite is said once.
  const rows = new Map<string, { parts: string[]; row: string[] }>();
  for (const info of once(all)) {
    const row = rowOf(info), key = row.join("\n"), known = rows.get(key);
    rows.set(key, { row, parts: [...(known?.parts ?? []), ...(info.part ? [info.part] : [])] });
  }
  const list = [...rows.values()], parts = list.some((one) => one.parts.length > 0);
  return stacked({
    head: ["engine", ...(parts ? ["part"] : []), "version", "durability", "its settings", "options changed", "build"],
    words: parts ? 7 : 6,
    rows: list.map(({ row: [name = "", ...rest], parts: own }) => [name, ...(parts ? [own.join(", ")] : []), ...rest]),
  }, "Engines, versions and durability");
}

export function method(data: PageData): HTMLElement {
  const { summary } = data;
  const cases = summary.groups.flatMap((group) => group.trials).filter((trial) => !trial.done);
  const missing = summary.not_measured;
  return section("method", "Method and limits",
    h("p", {}, `Each case is a process of its own${ramWords(data)}. Values are medians over trials; `
      + "ranges are order-statistic intervals of the median (at least 95 %) from six trials on, else the extremes. Percentiles are each trial's own, "
      + "and only where at least 10 samples lie beyond them. Two figures are undecided where the interval of their ratio holds 1, and they are not shown to be equal. "
      + `The overhead of the load generator is not subtracted${summary.load_generator ? ` (${summary.load_generator.ns_per_op.toFixed(1)} ns per operation here${summary.load_generator.max_ns == null ? "" : `, at most ${duration(summary.load_generator.max_ns)}`})` : ""}. `
      + `Method version ${summary.method_version}, record format ${summary.run.format}, measured by kvdyno ${summary.run.program}, page by ${data.program}.`),
    missing.length > 0 ? h("div", {}, h("h3", {}, "Not enforced or not measured"), h("ul", {}, ...missing.map((text) => h("li", {}, text)))) : null,
    cases.length > 0 ? h("div", {}, h("h3", {}, "Cases that did not run to their end"),
      table({ head: ["case", "outcome", "why"], words: 3, rows: cases.map((trial) => [trial.case, trial.outcome, trial.message ?? ""]) }, "Cases that did not run to their end")) : null,
    h("details", {}, h("summary", {}, "What each figure is, with formula and source"),
      table({ head: ["figure", "unit", "better", "source", "trials become", "what it is"], words: 6,
        rows: data.definitions.map((one) => [one.name, one.unit, one.direction, one.source.replaceAll("_", " "), one.combine.replaceAll("_", " "), one.help]) }, "Figures")));
}

/** A word as a shell takes it. */
export const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

export function again(data: PageData): HTMLElement {
  return section("again", "Run it again",
    h("pre", {}, h("code", {}, data.summary.run.command.map(quoted).join(" "))),
    h("details", {}, h("summary", {}, "The suite"), h("pre", {}, h("code", {}, data.suite))));
}
