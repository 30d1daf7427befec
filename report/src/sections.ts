// The text sections of the page: title, answers, findings, host, engines, method, suite.

import type { Claim, EngineInfo, Finding, Host, PageData, Severity, Verdicts } from "./data";
import { h, type Child } from "./dom";
import { formatBytes, capitalize, formatDate, formatDuration } from "./format";
import { unique, labelWithoutPart, type Model } from "./model";
import { createStackedTable, createTable } from "./table";

export const createSection = (id: string, heading: string, ...children: Child[]): HTMLElement =>
  h("section", { id, "aria-label": heading }, h("h2", {}, heading), ...children);

/** Returns the run's title, which is the suite's question; else the name of the run or of the suite. */
export const runTitle = (data: PageData): string => {
  const { run } = data.summary;
  return run.title || run.name || run.suite;
};

/** Returns the title of the window: the run's own name, then its title. */
export const windowTitle = (data: PageData): string => unique([data.summary.run.name || runTitle(data), runTitle(data)]).join(": ");

export function pageHead(data: PageData, home: Child = null): HTMLElement {
  const { run } = data.summary;
  const undone = run.cases_planned - run.cases_done;
  const state = run.complete ? `${run.cases_done} of ${run.cases_planned} cases done${undone > 0 ? `, ${undone} not` : ""}`
    : `${data.live?.state === "running" ? "running" : "partial"}: ${run.cases_recorded} of ${run.cases_planned} cases`;
  const title = runTitle(data);
  return h("header", { class: "head" },
    h("p", { class: "kicker" }, home, "kvdyno · ", run.name && run.name !== title ? h("strong", { class: "name" }, run.name) : null,
      run.name && run.name !== title ? " · " : null, `${run.suite} · ${formatDate(run.started_unix_ns)} · ${state}`),
    h("h1", {}, title),
    run.note ? h("p", { class: "remark" }, run.note) : null,
    h("p", { class: "setting" }, formatSetting(data)),
    hasBrokenLimit(data) ? h("p", { class: "broken" }, "The RAM limit was not held: what the title says of RAM is not so.") : null);
}

/** Returns the engines with their versions, by durability class, and the data. */
function formatSetting(data: PageData): string {
  const engines = data.summary.engines.filter((info) => !info.worker?.bare_drive && !info.worker?.stores_nothing);
  // A run of the bare drive alone shows the drive instead of engines.
  return [...formatClasses(engines), ...formatData(data), ...(engines.length === 0 ? [formatHost(data.summary.host)] : [])].join(" · ");
}

/** Returns `LMDB 0.9.70`: an engine with its version. */
function formatVersion(info: EngineInfo): string {
  const label = labelWithoutPart(info), title = info.worker?.title ?? label;
  const name = label === info.engine || label === title ? title : `${label} (${title})`;
  return `${name} ${info.worker?.version ?? ""}`.trim();
}

/** Returns `durability commit: LMDB 0.9.70 · RocksDB 11.8.1` for each class. */
export const formatClasses = (engines: EngineInfo[]): string[] => unique(engines.map((info) => info.durability)).map((durability) =>
  `durability ${durability}: ${unique(engines.filter((info) => info.durability === durability).map(formatVersion)).join(" · ")}`);

/** Returns `2 x AMD EPYC, 23.5 GiB, ext4 on vda (virtual)`, like the terminal. */
export function formatHost({ machine, filesystem, drive }: Host): string {
  const model = machine.cpu_model.replace(/\((R|TM)\)/g, "").split(" CPU @")[0]?.replace(/ Processor$/, "").trim() ?? "";
  const driveText = drive ? ` on ${drive.name}${machine.virtual_machine ? " (virtual)" : ""}` : "";
  return `${machine.cpus} x ${model}, ${formatBytes(machine.memory_bytes)}${filesystem ? `, ${filesystem.kind}` : ""}${driveText}`;
}

/** Returns the sizes of the data, each with its RAM limits, without duplicates. */
export function formatData(data: Pick<PageData, "header">): string[] {
  const lines = unique(data.header.filter(([word]) => word === "data").map(([, text]) => text));
  const sizes = new Map<string, string[]>();
  for (const line of lines) {
    const [size = "", ...ram] = line.split(/, (?=RAM |no RAM )/);
    sizes.set(size, [...(sizes.get(size) ?? []), ...ram]);
  }
  return [...sizes].map(([size, rams]) => [size, rams.join("; ")].filter((text) => text !== "").join(", "));
}

const hasBrokenLimit = (data: PageData): boolean => data.summary.groups.some((group) => group.ram_limit_held === false);

function ramLimitNote(data: PageData): string {
  if (hasBrokenLimit(data)) return "; the RAM limit was not held";
  const limited = data.summary.groups.some((group) => group.ram_limit_bytes != null);
  return limited ? ", within a RAM limit that holds its page cache as well" : ", without a RAM limit";
}

/** Creates the answers: the result in one line, the verdicts, and a sentence for each workload. */
export function answersSection(data: PageData, model: Model): HTMLElement | null {
  const { verdicts, disturbance = null } = data.summary;
  const works = model.works.filter((work) => !work.drive);
  const findWorkIndex = (workload: string) => works.findIndex((work) => workload === work.phase || workload.startsWith(`${work.phase},`) || workload.startsWith(`${work.phase} `));
  const lines = headlines(data);
  // Measured workloads come before the load. A sentence that is a headline is not repeated.
  const sentences = data.answers.filter(({ sentence }) => !lines.some(({ line }) => line === sentence)).map((answer) => ({ ...answer, at: findWorkIndex(answer.workload) })).sort((a, b) => (a.at < 0 ? 0 : a.at) - (b.at < 0 ? 0 : b.at));
  const workloadLabel = ({ workload, at }: { workload: string; at: number }) => {
    const work = works[at];
    if (!work) return workload;
    return workload === work.phase ? work.name.split(", RAM ")[0] ?? work.name : work.title + workload.slice(work.phase.length);
  };
  const list = h("dl", { class: "answers" }, ...sentences.flatMap((answer) => [h("dt", {}, workloadLabel(answer)), h("dd", {}, answer.sentence)]));
  // Below the answer, folded: a sentence with intervals for each workload.
  const rest = sentences.length === 0 ? null : lines.length > 0 ? h("details", {}, h("summary", {}, `In sentences: ${pluralize(sentences.length, "workload")}`), list) : list;
  if (lines.length === 0 && !rest && verdicts.figures === 0 && !disturbance) return null;
  return h("div", { class: "result-top" },
    lines.length === 0 && !rest ? null : h("div", { class: "answer" }, ...lines.flatMap(({ line, aside }) => [h("p", { class: "headline" }, line), aside ? h("p", { class: "note" }, aside) : null]), rest),
    verdicts.figures > 0 || disturbance ? verdictsElement(verdicts, disturbance) : null);
}

/** Returns the verdicts of the suite's claims, with their reasons, and the answer in one line. */
function headlines(data: PageData): { line: string; aside: string }[] {
  const { claims = [], answer = [] } = data.summary;
  const [headline] = answer;
  return [
    ...(claims.length > 0 ? [{ line: formatClaims(claims), aside: claimReasons(claims) }] : []),
    ...(headline ? [{ line: headline, aside: "" }] : []),
  ];
}

/** The most reasons that are named; the table has all of them. */
const REASONS = 3;

/** Returns `0 of 15 claims hold, 2 do not, 13 are undecided.` */
export function formatClaims(claims: Claim[]): string {
  const count = (verdict: Claim["verdict"]) => claims.filter((claim) => claim.verdict === verdict).length;
  const [holds, not, unknown] = [count("holds"), count("does_not_hold"), count("undecided")];
  return `${holds} of ${pluralize(claims.length, "claim")} ${holds === 1 ? "holds" : "hold"}, ${not} ${not === 1 ? "does" : "do"} not${unknown > 0 ? `, ${unknown} ${unknown === 1 ? "is" : "are"} undecided` : ""}.`;
}

/** Returns why claims are undecided, the most frequent reason first: `it needs 33 processors: here are 2 (3 claims)`. */
export function claimReasons(claims: Claim[]): string {
  const reasons = new Map<string, number>();
  for (const { verdict, reason } of claims) if (verdict === "undecided" && reason) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const sorted = [...reasons].sort((a, b) => b[1] - a[1]).map(([reason, count]) => (count > 1 ? `${reason} (${count} claims)` : reason));
  const more = sorted.length > REASONS ? `; and ${sorted.length - REASONS} more reasons` : "";
  return sorted.length === 0 ? "" : `Undecided: ${sorted.slice(0, REASONS).join("; ")}${more}.`;
}

/** The number of undecided figures that are always visible; the others are folded. */
const OPEN = 3;

/** Returns `8 of 9 figures decided` or `all 9 figures decided`, like the program's own `verdicts`. */
export function formatVerdicts({ figures, undecided }: Verdicts): string {
  if (figures === 0) return "";
  if (undecided.length > 0) return `${figures - undecided.length} of ${figures} figures decided`;
  return figures === 1 ? "1 figure decided" : `all ${figures} figures decided`;
}

/** Returns `about 6 more pairs`: the estimate of what would decide. */
export const formatMorePairs = (more: number | null): string =>
  more === null ? "over 1,000 more pairs" : `about ${pluralize(more, "more pair")}`;

/** Returns the undecided figures; those with the same text (several RAM sizes or parts) are one line. */
export function undecidedFigures({ undecided }: Verdicts): string[] {
  const descriptions = undecided.map((figure) => `${figure.label} ${figure.scope} (${figure.reason ?? formatMorePairs(figure.more_pairs)})`);
  return unique(descriptions).map((words) => {
    const count = descriptions.filter((other) => other === words).length;
    return count > 1 ? `${words.slice(0, -1)}; ${count} figures)` : words;
  });
}

function verdictsElement(verdicts: Verdicts, disturbance: string | null): HTMLElement {
  const items = undecidedFigures(verdicts).map((words) => h("li", {}, h("span", {}, words)));
  const words = formatVerdicts(verdicts);
  return h("div", { class: `verdicts ${items.length > 0 || disturbance ? "open" : "decided"}`, role: "note", "aria-label": "Verdicts" },
    disturbance ? h("p", { class: "level" }, `${capitalize(disturbance)}.`) : null,
    words ? h("p", { class: "level" }, capitalize(words), items.length > 0 ? "; undecided:" : ".") : null,
    items.length > 0 ? h("ul", {}, ...items.slice(0, OPEN)) : null,
    items.length > OPEN ? h("details", {}, h("summary", {}, `${items.length - OPEN} more`), h("ul", {}, ...items.slice(OPEN))) : null);
}

const WORDS: Record<Severity, string> = { invalid: "invalid", warning: "warning", info: "note" };

/** Topics of findings by their ids, in order of precedence; the topic of all others is `method`. */
const ABOUT: [about: string, ids: RegExp][] = [
  ["CPU", /^(cpu-|bound-by-cpu|load-generator-share|tail-below-load-generator|assertions-on|debug-build)/],
  ["machine", /^(data-dir-|drive-|readahead-|busy-host|concurrent-run|foreign-io|swap-on|damon-on|memory-limit|io-limit|discard-|clock-|slow-clock|small-against)/],
  ["workload", /^(writers-|writes-|not-steady|not-settled|open-loop|operations-|cases-|does-not-fit|commit-|above-ceiling|bound-by|database-|keys-|values-|verify-|data-)/],
];

const findingTopic = (finding: Finding): string => ABOUT.find(([, ids]) => ids.test(finding.id))?.[0] ?? "method";

const pluralize = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Returns `10 warnings: 4 machine, 4 workload, 2 CPU`. */
export function summarizeFindings(list: Finding[], word: string): string {
  const counts = new Map<string, number>();
  for (const finding of list) counts.set(findingTopic(finding), (counts.get(findingTopic(finding)) ?? 0) + 1);
  const parts = [...counts].sort((a, b) => b[1] - a[1]).map(([about, count]) => `${count} ${about}`);
  return list.length === 0 ? `No ${word}s` : `${pluralize(list.length, word)}: ${parts.join(", ")}`;
}

/** Creates the findings, one folded line per severity; findings that make figures void are not folded. */
export function findingsSection(data: PageData): HTMLElement {
  const list = data.summary.findings;
  const bySeverity = (severity: Severity) => list.filter((finding) => finding.severity === severity);
  const findingItem = (finding: Finding) => h("li", { class: `finding ${finding.severity}` },
    h("span", { class: "severity" }, WORDS[finding.severity]),
    h("div", {},
      h("p", {}, h("code", {}, finding.id), " ", finding.evidence, finding.cases.length > 1 ? ` (${finding.cases.length} cases)` : ""),
      h("p", { class: "advice" }, finding.advice)));
  const [invalid, warnings, notes] = [bySeverity("invalid"), bySeverity("warning"), bySeverity("info")];
  const foldFindings = (name: string, list: Finding[], word: string) => list.length === 0 ? h("p", { class: name }, `No ${word}s.`)
    : h("details", { class: name }, h("summary", {}, summarizeFindings(list, word)), h("ul", { class: "findings" }, ...list.map(findingItem)));
  return h("section", { id: "findings", "aria-label": "Findings" },
    invalid.length > 0 ? h("ul", { class: "findings grave" }, ...invalid.map(findingItem)) : null,
    foldFindings("warnings", warnings, "warning"), notes.length > 0 ? foldFindings("notes", notes, "note") : null);
}

/** Creates the list of parts that this machine cannot run; null: it runs all of them. */
export function notRunSection(data: PageData): HTMLElement | null {
  const reasons = data.header.filter(([word]) => word === NOT_HERE).map(([, text]) => text);
  return reasons.length === 0 ? null : createSection("not-here", "Not run here",
    h("p", { class: "note" }, "This machine lacks what these parts of the suite need; their cells stay empty."),
    h("ul", {}, ...reasons.map((text) => h("li", {}, text))));
}

/** The key of these parts in the page's header. */
const NOT_HERE = "not here";

/** Creates the section of the machine, like the terminal's header, with a table of the engines. */
export function hostSection(data: PageData): HTMLElement {
  // A running run's progress is shown above: the header's line says only that it did not end.
  const elsewhere = ["engine", "not known", "suite", NOT_HERE, data.live?.state === "running" ? "run" : ""];
  const lines = data.header.filter(([word]) => !elsewhere.includes(word));
  let before = "";
  const rows = lines.flatMap(([word, text]) => {
    const name = word === before ? "" : word;
    before = word;
    return [h("dt", {}, name), h("dd", {}, text)];
  });
  return createSection("host", "Machine and engines", h("dl", { class: "facts" }, ...rows), enginesTable(data.summary.engines));
}

/** Returns the engines, with the bare drive's worker once for all its jobs. */
const uniqueWorkers = (list: EngineInfo[]): EngineInfo[] => list.filter((info, at) =>
  !info.worker?.bare_drive || at === list.findIndex((other) => other.engine === info.engine && other.worker?.bare_drive));

function enginesTable(all: EngineInfo[]): HTMLElement {
  const formatBuild = (info: EngineInfo) => Object.entries(info.worker?.build ?? {}).map(([name, value]) => `${name} ${value}`).join(", ");
  const engineRow = (info: EngineInfo) => {
    const label = labelWithoutPart(info);
    return [
      info.worker?.bare_drive ? info.worker.title : info.worker?.title && info.worker.title !== label ? `${label} = ${info.worker.title}` : label,
      info.worker?.version ?? "no worker was found", info.durability,
      info.worker?.durability_settings ?? "", info.changed.join(", ") || "none", formatBuild(info),
    ];
  };
  // Equal rows of several parts of a suite are one row.
  const rows = new Map<string, { parts: string[]; row: string[] }>();
  for (const info of uniqueWorkers(all)) {
    const row = engineRow(info), key = row.join("\n"), entry = rows.get(key);
    rows.set(key, { row, parts: [...(entry?.parts ?? []), ...(info.part ? [info.part] : [])] });
  }
  const list = [...rows.values()], parts = list.some((one) => one.parts.length > 0);
  return createStackedTable({
    head: ["engine", ...(parts ? ["part"] : []), "version", "durability", "its settings", "options changed", "build"],
    words: parts ? 7 : 6,
    rows: list.map(({ row: [name = "", ...rest], parts: own }) => [name, ...(parts ? [own.join(", ")] : []), ...rest]),
  }, "Engines, versions and durability");
}

export function methodSection(data: PageData): HTMLElement {
  const { summary } = data;
  const cases = summary.groups.flatMap((group) => group.trials).filter((trial) => !trial.done);
  const missing = summary.not_measured;
  return createSection("method", "Method and limits",
    h("p", {}, `Each case is a process of its own${ramLimitNote(data)}. Values are medians over trials; `
      + "ranges are order-statistic intervals of the median (at least 95 %) from six trials on, else the extremes. Percentiles are each trial's own, "
      + "and only where at least 10 samples lie beyond them. Two figures are undecided where the interval of their ratio holds 1, and they are not shown to be equal. "
      + `The overhead of the load generator is not subtracted${summary.load_generator ? ` (${summary.load_generator.ns_per_op.toFixed(1)} ns per operation here${summary.load_generator.max_ns == null ? "" : `, at most ${formatDuration(summary.load_generator.max_ns)}`})` : ""}. `
      + `Method version ${summary.method_version}, record format ${summary.run.format}, measured by kvdyno ${summary.run.program}, page by ${data.program}.`),
    missing.length > 0 ? h("div", {}, h("h3", {}, "Not enforced or not measured"), h("ul", {}, ...missing.map((text) => h("li", {}, text)))) : null,
    cases.length > 0 ? h("div", {}, h("h3", {}, "Cases that did not run to their end"),
      createTable({ head: ["case", "outcome", "why"], words: 3, rows: cases.map((trial) => [trial.case, trial.outcome, trial.message ?? ""]) }, "Cases that did not run to their end")) : null,
    h("details", {}, h("summary", {}, "What each figure is, with formula and source"),
      createTable({ head: ["figure", "unit", "better", "source", "trials become", "what it is"], words: 6,
        rows: data.definitions.map((one) => [one.name, one.unit, one.direction, one.source.replaceAll("_", " "), one.combine.replaceAll("_", " "), one.help]) }, "Figures")));
}

/** Quotes a word for a shell. */
export const quoteWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

export function commandSection(data: PageData): HTMLElement {
  return createSection("again", "Run it again",
    h("pre", {}, h("code", {}, data.summary.run.command.map(quoteWord).join(" "))),
    h("details", {}, h("summary", {}, "The suite"), h("pre", {}, h("code", {}, data.suite))));
}
