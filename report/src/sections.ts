// The parts of the page that are words: title, answers, findings, host, engines, method, suite.

import type { EngineInfo, PageData, Severity } from "./data";
import { h, type Child } from "./dom";
import { date, duration } from "./format";
import { table } from "./table";

export const section = (id: string, heading: string, ...children: Child[]): HTMLElement =>
  h("section", { id, "aria-label": heading }, h("h2", {}, heading), ...children);

export function head(data: PageData, home: Child = null): HTMLElement {
  const { run } = data.summary;
  const state = run.complete ? `${run.cases_done} of ${run.cases_planned} cases done`
    : `${data.live?.state === "running" ? "at work" : "not complete"}: ${run.cases_recorded} of ${run.cases_planned} cases`;
  return h("header", { class: "head" },
    h("p", { class: "kicker" }, home, `kvdyno · ${run.suite} · ${date(run.started_unix_ns)} · ${state}`),
    h("h1", {}, run.title || run.suite),
    notHeld(data) ? h("p", { class: "broken" }, "Its RAM limit was not held: what the title says of RAM is not so.") : null);
}

const notHeld = (data: PageData): boolean => data.summary.groups.some((group) => group.ram_limit_held === false);

function ramWords(data: PageData): string {
  if (notHeld(data)) return "; its RAM limit was not held";
  const limited = data.summary.groups.some((group) => group.ram_limit_bytes != null);
  return limited ? ", within a RAM limit that holds its page cache as well" : ", without a RAM limit";
}

export function answers(data: PageData): HTMLElement | null {
  if (data.answers.length === 0) return null;
  return h("dl", { class: "answers" }, ...data.answers.flatMap(({ workload, sentence }) =>
    [h("dt", {}, workload), h("dd", {}, sentence)]));
}

const WORDS: Record<Severity, string> = { invalid: "invalid", warning: "warning", info: "note" };

export function findings(data: PageData): HTMLElement {
  const list = data.summary.findings;
  if (list.length === 0) return section("findings", "Findings", h("p", {}, "Nothing was found that would spoil the figures."));
  const item = (severity: Severity) => list.filter((finding) => finding.severity === severity).map((finding) =>
    h("li", { class: `finding ${severity}` },
      h("span", { class: "severity" }, WORDS[severity]),
      h("div", {},
        h("p", {}, h("code", {}, finding.id), " ", finding.evidence, finding.cases.length > 1 ? ` (${finding.cases.length} cases)` : ""),
        h("p", { class: "advice" }, finding.advice))));
  const grave = [...item("invalid"), ...item("warning")], notes = item("info");
  return section("findings", "Findings",
    grave.length > 0 ? h("ul", { class: "findings" }, ...grave) : h("p", {}, "Nothing that would spoil the figures."),
    notes.length > 0 ? h("details", { class: "notes" },
      h("summary", {}, `${notes.length} note${notes.length === 1 ? "" : "s"} on what the figures hold for`),
      h("ul", { class: "findings" }, ...notes)) : null);
}

/** As the terminal says it; engines have a table of their own. */
export function host(data: PageData): HTMLElement {
  // Of a run at work it says that it did not end; how it gets on stands above.
  const elsewhere = ["engine", "not known", "suite", data.live?.state === "running" ? "run" : ""];
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
  const list = once(all);
  const build = (info: EngineInfo) => Object.entries(info.worker?.build ?? {}).map(([name, value]) => `${name} ${value}`).join(", ");
  return table({
    head: ["engine", "version", "durability", "what that means", "options changed", "build"],
    words: 6,
    rows: list.map((info) => [
      info.worker?.bare_drive ? info.worker.title
        : info.worker?.title && info.worker.title !== info.label ? `${info.label} = ${info.worker.title}` : info.label,
      info.worker?.version ?? "no worker was found", info.durability,
      info.worker?.durability_means ?? "", info.changed.join(", ") || "none", build(info),
    ]),
  }, "Engines, versions and durability");
}

export function method(data: PageData): HTMLElement {
  const { summary } = data;
  const cases = summary.groups.flatMap((group) => group.trials).filter((trial) => !trial.done);
  const missing = summary.not_measured;
  return section("method", "Method and limits",
    h("p", {}, `Each case is a process of its own${ramWords(data)}. Values are medians over trials; `
      + "ranges are order-statistic intervals of the median (at least 95 %) from six trials on, else the extremes. Percentiles are read from the "
      + "histograms of all trials together, and only where at least 10 samples lie beyond them. Two figures whose ranges overlap are not told apart. "
      + `Nothing of the harness's own cost is subtracted${summary.harness ? ` (${summary.harness.ns_per_op.toFixed(1)} ns an operation here${summary.harness.max_ns == null ? "" : `, at most ${duration(summary.harness.max_ns)}`})` : ""}. `
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
