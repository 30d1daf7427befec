// The conditions below a saved picture: engines, data, RAM, durability, trials and their length, the meaning of
// whiskers, the machine, the verdicts, and missing engines.

import type { Drawing } from "./drawing";
import { formatBytes, formatDate, formatDuration, formatSi } from "./format";
import { formatThreads } from "./gaps";
import { truncate } from "./layout";
import { engineId, findMetric, rateMetric, metricRange, unique, type Case } from "./model";
import { formatClasses, formatHost, runTitle, formatVerdicts } from "./sections";
import { chosenEngines, type View } from "./view";

/** The most reasons that a picture names. */
const MISSING_MAX = 4;

/** The most characters of a case's error message. */
const MESSAGE_MAX = 100;

/** The outcome of a case that needs more RAM than its limit. */
const NO_ROOM = "does not fit";

/** Returns `1.00 M x 16+100 B = 111 MiB, RAM limit 28.0 MiB`. */
function formatDataSizes(cases: Case[]): string[] {
  return unique(cases.map(({ group }) => {
    const ram = group.ram_limit_bytes == null ? "no RAM limit" : `RAM limit ${formatBytes(group.ram_limit_bytes)}${group.ram_limit_held === false ? " (not held)" : ""}`;
    return `${formatSi(group.records)} x ${group.key_bytes}+${group.value_bytes_mean} B = ${formatBytes(group.user_bytes)}, ${ram}`;
  }));
}

/** Returns `2 threads`, or `readers: 1, 2 threads; writer: 1 thread` if the roles of a phase differ. */
export function formatRoleThreads(cases: Case[]): string {
  const rows = cases.flatMap((one) => (one.load ? [{ role: "load", threads: one.load.threads }] : one.run?.roles ?? []));
  const roleThreads = (role: string): string => {
    const counts = unique(rows.filter((row) => row.role === role).map((row) => row.threads)).sort((a, b) => a - b);
    return formatThreads(counts);
  };
  const roles = unique(rows.map((row) => row.role)), words = unique(roles.map(roleThreads));
  if (words.length < 2) return (words[0] ?? "") + (roles.length > 1 ? " in each role" : "");
  return words.map((text) => `${roles.filter((role) => roleThreads(role) === text).join(", ")}: ${text}`).join("; ");
}

/** Returns `4` or `2 to 4`, of texts in ascending order. */
const formatSpan = (texts: string[]): string => (texts.length < 2 ? texts[0] ?? "" : `${texts[0]} to ${texts.at(-1)}`);

/** Returns `2 trials of 10.0 s`: the started trials, and the length of their measured phase. */
export function formatTrials(cases: Case[]): string {
  const sortUnique = (values: number[]) => unique(values).sort((a, b) => a - b);
  const counts = sortUnique(cases.map((one) => one.group.trials.length));
  const metrics = cases.flatMap((one) => (one.load ? [findMetric(one.load.metrics, "wall_ns")] : (one.run?.roles ?? []).map((row) => findMetric(row.metrics, "window_ns"))));
  const lengths = unique(sortUnique(metrics.flatMap((metric) => metric?.value ?? [])).map(formatDuration));
  return `${formatSpan(counts.map(String))} trial${counts.at(-1) === 1 ? "" : "s"}${lengths.length > 0 ? ` of ${formatSpan(lengths)}` : ""}`;
}

/** Explains what a whisker is, which depends on the number of trials. */
export function explainWhiskers(cases: Case[]): string {
  const metrics = cases.flatMap((one) => (one.load ? one.load.metrics : (one.run?.roles ?? []).flatMap((row) => row.metrics)));
  const ranges = metrics.filter((metric) => metricRange(metric));
  const intervals = ranges.filter((metric) => metric.interval);
  if (ranges.length === 0) return "no whiskers: values of one trial";
  if (intervals.length === 0) return "whiskers: lowest to highest trial";
  return `whiskers: 95 % interval of the median${intervals.length < ranges.length ? ", below six trials lowest to highest trial" : ""}`;
}

const limitItems = (items: string[]): string[] =>
  items.length > MISSING_MAX ? [...items.slice(0, MISSING_MAX), `and ${items.length - MISSING_MAX} more`] : items;

/** Returns `LMDB, redb: does not fit`: one line per reason. */
function groupByReason(list: [name: string, words: string][]): string[] {
  return unique(list.map(([, words]) => words)).map((words) =>
    `${unique(list.filter(([, reason]) => reason === words).map(([name]) => name)).join(", ")}: ${words}`);
}

/** Returns engines that have no figure or fewer trials than planned, with the reason. */
export function missingEngines(view: View): string[] {
  const { model, choice } = view;
  const engineCases = view.cases.filter((one) => !one.engine.loadGenerator && !one.engine.drive);
  const unmeasured = engineCases.flatMap((one): [string, string][] => {
    const metric = rateMetric(one, view.work.roles[0] ?? "") ?? findMetric(one.run?.metrics ?? one.load?.metrics, "wall_ns");
    const undoneTrials = one.group.trials.filter((trial) => !trial.done);
    if (metric?.value != null && undoneTrials.length === 0) return [];
    const threads = one.threads == null || model.threads.length < 2 ? "" : ` at ${one.threads} thread${one.threads === 1 ? "" : "s"}`;
    const [trial] = undoneTrials;
    // For "does not fit" the message is redundant: the limit is in another line.
    const message = trial?.message && trial.outcome !== NO_ROOM ? ` (${truncate(trial.message, MESSAGE_MAX)})` : "";
    const part = metric?.value != null ? `${undoneTrials.length} of ${one.group.trials.length} trials: ` : "";
    return [[one.engine.name + threads, `${part}${metric?.missing ?? trial?.outcome ?? "no figure"}${message}`]];
  });
  const unmeasuredEngines = view.work.drive ? [] : chosenEngines(model, choice).filter((engine) => !engineCases.some((one) => one.engine.id === engine.id))
    .map((engine): [string, string] => [engine.name, "not measured here"]);
  const hiddenEngines = model.engines.filter((engine) => !engine.loadGenerator && !engine.drive && !chosenEngines(model, choice).includes(engine));
  const notRun = model.data.header.filter(([word, text]) => word === "not here" && / is not run/.test(text)).map(([, text]) => text);
  return limitItems(unique([...groupByReason(unmeasured), ...groupByReason(unmeasuredEngines), ...notRun, ...(hiddenEngines.length > 0 ? [`left out by choice: ${hiddenEngines.map((engine) => engine.name).join(", ")}`] : [])]));
}

/** Returns the cases that a picture shows. */
function drawnCases(view: View, drawing: Conditioned): Case[] {
  const engines = chosenEngines(view.model, view.choice);
  const all = drawing.whole ? view.model.cases.filter((one) => engines.includes(one.engine)) : drawing.cases ?? view.cases;
  const compared = all.filter((one) => !one.engine.loadGenerator);
  const engineCases = compared.filter((one) => !one.engine.drive);
  return engineCases.length > 0 ? engineCases : compared;
}

export type Conditioned = Pick<Drawing, "cases" | "whole" | "whiskers" | "notDrawn">;

/** Names the engines that a drawing does not show; empty: it shows all. */
export const notDrawnNote = ({ notDrawn = [] }: Conditioned): string => (notDrawn.length > 0 ? `Not drawn: ${notDrawn.join("; ")}.` : "");

/** Returns the lines below a picture. */
export function pictureConditions(view: View, drawing: Conditioned): string[] {
  const { data: page } = view.model;
  const { run, verdicts, engines } = page.summary;
  const cases = drawnCases(view, drawing), engineCases = cases.filter((one) => !one.engine.drive);
  const infos = engines.filter((info) => engineCases.some((one) => one.engine.id === engineId(info)));
  const missing = missingEngines(view);
  const joinTexts = (...texts: string[]): string => texts.filter((text) => text !== "").join(" · ");
  return [
    notDrawnNote(drawing),
    joinTexts(...formatClasses(infos), ...formatDataSizes(engineCases)),
    joinTexts(formatRoleThreads(cases), formatTrials(cases), drawing.whiskers ? explainWhiskers(cases) : "", formatHost(page.summary.host), formatDate(run.started_unix_ns).slice(0, 10)),
    page.summary.disturbance ?? "",
    missing.length > 0 ? `Missing: ${missing.join("; ")}` : "",
    joinTexts(`Question: ${runTitle(page)}`, formatVerdicts(verdicts), `kvdyno ${run.program}, run ${run.id}`),
  ].filter((line) => line !== "");
}
