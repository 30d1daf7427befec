// What a picture must say where nothing stands beside it: which engines, on which data, with which RAM and
// durability, how often and how long, what a whisker is, on which machine, what is decided, and who is missing.

import type { Drawing } from "./drawing";
import { bytes, date, duration, si } from "./format";
import { threadWords as countWords } from "./gaps";
import { cut } from "./layout";
import { engineId, metricOf, rateOf, rangeOf, unique, type Case } from "./model";
import { classWords, hostWords, titleOf, verdictWords } from "./sections";
import { chosenEngines, type View } from "./view";

/** So many reasons are named in a picture. */
const MISSING_MAX = 4;

/** So many letters of what a case ended with. */
const MESSAGE_MAX = 100;

/** How a case ends that needs more RAM than its limit. */
const NO_ROOM = "does not fit";

/** `1.00 M x 16+100 B = 111 MiB, RAM limit 28.0 MiB`. */
function dataWords(cases: Case[]): string[] {
  return unique(cases.map(({ group }) => {
    const ram = group.ram_limit_bytes == null ? "no RAM limit" : `RAM limit ${bytes(group.ram_limit_bytes)}${group.ram_limit_held === false ? " (not held)" : ""}`;
    return `${si(group.records)} x ${group.key_bytes}+${group.value_bytes_mean} B = ${bytes(group.user_bytes)}, ${ram}`;
  }));
}

/** `2 threads`; `readers: 1, 2 threads; writer: 1 thread` where the roles of a phase differ. */
export function threadWords(cases: Case[]): string {
  const rows = cases.flatMap((one) => (one.load ? [{ role: "load", threads: one.load.threads }] : one.run?.roles ?? []));
  const wordsOf = (role: string): string => {
    const counts = unique(rows.filter((row) => row.role === role).map((row) => row.threads)).sort((a, b) => a - b);
    return countWords(counts);
  };
  const roles = unique(rows.map((row) => row.role)), words = unique(roles.map(wordsOf));
  if (words.length < 2) return (words[0] ?? "") + (roles.length > 1 ? " in each role" : "");
  return words.map((text) => `${roles.filter((role) => wordsOf(role) === text).join(", ")}: ${text}`).join("; ");
}

/** `4`, `2 to 4`: of texts in ascending order. */
const span = (texts: string[]): string => (texts.length < 2 ? texts[0] ?? "" : `${texts[0]} to ${texts.at(-1)}`);

/** `2 trials of 10.0 s`: as many as were begun, and how long their phase was measured. */
export function trialWords(cases: Case[]): string {
  const ascending = (values: number[]) => unique(values).sort((a, b) => a - b);
  const counts = ascending(cases.map((one) => one.group.trials.length));
  const metrics = cases.flatMap((one) => (one.load ? [metricOf(one.load.metrics, "wall_ns")] : (one.run?.roles ?? []).map((row) => metricOf(row.metrics, "window_ns"))));
  const lengths = unique(ascending(metrics.flatMap((metric) => metric?.value ?? [])).map(duration));
  return `${span(counts.map(String))} trial${counts.at(-1) === 1 ? "" : "s"}${lengths.length > 0 ? ` of ${span(lengths)}` : ""}`;
}

/** What a whisker is: that depends on the number of trials. */
export function whiskerWords(cases: Case[]): string {
  const metrics = cases.flatMap((one) => (one.load ? one.load.metrics : (one.run?.roles ?? []).flatMap((row) => row.metrics)));
  const ranges = metrics.filter((metric) => rangeOf(metric));
  const intervals = ranges.filter((metric) => metric.interval);
  if (ranges.length === 0) return "no whiskers: values of one trial";
  if (intervals.length === 0) return "whiskers: lowest to highest trial";
  return `whiskers: 95 % interval of the median${intervals.length < ranges.length ? ", below six trials lowest to highest trial" : ""}`;
}

const few = (items: string[]): string[] =>
  items.length > MISSING_MAX ? [...items.slice(0, MISSING_MAX), `and ${items.length - MISSING_MAX} more`] : items;

/** `LMDB and redb: does not fit`: names with the same words once. */
function groupNames(list: [name: string, words: string][]): string[] {
  return unique(list.map(([, words]) => words)).map((words) =>
    `${unique(list.filter(([, own]) => own === words).map(([name]) => name)).join(", ")}: ${words}`);
}

/** Engines without a figure here, or with fewer trials than planned, and why. */
export function missingOf(view: View): string[] {
  const { model, choice } = view;
  const own = view.cases.filter((one) => !one.engine.loadGenerator && !one.engine.drive);
  const without = own.flatMap((one): [string, string][] => {
    const metric = rateOf(one, view.work.roles[0] ?? "") ?? metricOf(one.run?.metrics ?? one.load?.metrics, "wall_ns");
    const undone = one.group.trials.filter((trial) => !trial.done);
    if (metric?.value != null && undone.length === 0) return [];
    const threads = one.threads == null || model.threads.length < 2 ? "" : ` at ${one.threads} thread${one.threads === 1 ? "" : "s"}`;
    const [trial] = undone;
    // That it does not fit says it all: the limit stands in another line.
    const message = trial?.message && trial.outcome !== NO_ROOM ? ` (${cut(trial.message, MESSAGE_MAX)})` : "";
    const part = metric?.value != null ? `${undone.length} of ${one.group.trials.length} trials: ` : "";
    return [[one.engine.name + threads, `${part}${metric?.missing ?? trial?.outcome ?? "no figure"}${message}`]];
  });
  const absent = view.work.drive ? [] : chosenEngines(model, choice).filter((engine) => !own.some((one) => one.engine.id === engine.id))
    .map((engine): [string, string] => [engine.name, "not measured here"]);
  const hidden = model.engines.filter((engine) => !engine.loadGenerator && !engine.drive && !chosenEngines(model, choice).includes(engine));
  const notRun = model.data.header.filter(([word, text]) => word === "not here" && / is not run/.test(text)).map(([, text]) => text);
  return few(unique([...groupNames(without), ...groupNames(absent), ...notRun, ...(hidden.length > 0 ? [`left out by choice: ${hidden.map((engine) => engine.name).join(", ")}`] : [])]));
}

/** The cases that a picture is of. */
function casesOf(view: View, drawing: Conditioned): Case[] {
  const engines = chosenEngines(view.model, view.choice);
  const all = drawing.whole ? view.model.cases.filter((one) => engines.includes(one.engine)) : drawing.cases ?? view.cases;
  const compared = all.filter((one) => !one.engine.loadGenerator);
  const engineCases = compared.filter((one) => !one.engine.drive);
  return engineCases.length > 0 ? engineCases : compared;
}

export type Conditioned = Pick<Drawing, "cases" | "whole" | "whiskers" | "without">;

/** Which engines a drawing does not show; empty: it shows all. */
export const withoutLine = ({ without = [] }: Conditioned): string => (without.length > 0 ? `Not drawn: ${without.join("; ")}.` : "");

/** The lines under a picture. */
export function conditionsOf(view: View, drawing: Conditioned): string[] {
  const { data: page } = view.model;
  const { run, verdicts, engines } = page.summary;
  const cases = casesOf(view, drawing), engineCases = cases.filter((one) => !one.engine.drive);
  const infos = engines.filter((info) => engineCases.some((one) => one.engine.id === engineId(info)));
  const missing = missingOf(view);
  const joined = (...texts: string[]): string => texts.filter((text) => text !== "").join(" · ");
  return [
    withoutLine(drawing),
    joined(...classWords(infos), ...dataWords(engineCases)),
    joined(threadWords(cases), trialWords(cases), drawing.whiskers ? whiskerWords(cases) : "", hostWords(page.summary.host), date(run.started_unix_ns).slice(0, 10)),
    page.summary.disturbance ?? "",
    missing.length > 0 ? `Missing: ${missing.join("; ")}` : "",
    joined(`Question: ${titleOf(page)}`, verdictWords(verdicts), `kvdyno ${run.program}, run ${run.id}`),
  ].filter((line) => line !== "");
}
