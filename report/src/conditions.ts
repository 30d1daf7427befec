// What a picture must say where nothing stands beside it: what was asked, on which data, with which RAM and
// durability, on which machine, what is decided, and who is missing.

import { bytes, si } from "./format";
import { cut } from "./layout";
import { metricOf, rateOf, unique, type Case } from "./model";
import { hostWords, titleOf, verdictWords } from "./sections";
import { chosenEngines, type View } from "./view";

/** So many reasons are named in a picture. */
const MISSING_MAX = 4;

/** So many letters of what a case ended with. */
const MESSAGE_MAX = 100;

/** `1.00 M x 16+100 B = 111 MiB, RAM limit 28.0 MiB, durability commit`. */
function data(cases: Case[]): string[] {
  return unique(cases.filter((one) => !one.engine.drive).map(({ group }) => {
    const ram = group.ram_limit_bytes == null ? "no RAM limit" : `RAM limit ${bytes(group.ram_limit_bytes)}${group.ram_limit_held === false ? " (not held)" : ""}`;
    return `${si(group.records)} x ${group.key_bytes}+${group.value_bytes_mean} B = ${bytes(group.user_bytes)}, ${ram}`;
  }));
}

const few = (items: string[]): string[] =>
  items.length > MISSING_MAX ? [...items.slice(0, MISSING_MAX), `and ${items.length - MISSING_MAX} more`] : items;

/** Engines without a figure here, and why. */
export function missingOf(view: View): string[] {
  const { model, choice } = view;
  const own = view.cases.filter((one) => !one.engine.loadGenerator && !one.engine.drive);
  const without = own.flatMap((one) => {
    const metric = rateOf(one, view.work.roles[0] ?? "") ?? metricOf(one.run?.metrics ?? one.load?.metrics, "wall_ns");
    if (metric?.value != null) return [];
    const threads = one.threads == null || model.threads.length < 2 ? "" : ` at ${one.threads} thread${one.threads === 1 ? "" : "s"}`;
    const message = one.group.trials.find((trial) => !trial.done)?.message;
    return [`${one.engine.name}${threads}: ${metric?.missing ?? "no figure"}${message ? ` (${cut(message, MESSAGE_MAX)})` : ""}`];
  });
  const absent = view.work.drive ? [] : chosenEngines(model, choice).filter((engine) => !own.some((one) => one.engine.id === engine.id))
    .map((engine) => `${engine.name}: not measured here`);
  const hidden = model.engines.filter((engine) => !engine.loadGenerator && !engine.drive && !chosenEngines(model, choice).includes(engine));
  const notRun = model.data.header.filter(([word, text]) => word === "not here" && / is not run/.test(text)).map(([, text]) => text);
  return few(unique([...without, ...absent, ...notRun, ...(hidden.length > 0 ? [`left out by choice: ${hidden.map((engine) => engine.name).join(", ")}`] : [])]));
}

/** The lines under a saved picture. */
export function conditionsOf(view: View): string[] {
  const { data: page } = view.model;
  const { run, verdicts } = page.summary;
  const cases = view.cases.filter((one) => !one.engine.loadGenerator);
  const classes = unique(cases.filter((one) => !one.engine.drive).map((one) => one.engine.durability));
  const undecided = verdicts.undecided.map(({ label, scope }) => `${label} ${scope}`);
  const trust = verdictWords(verdicts) + (undecided.length > 0 ? `; undecided: ${few(undecided).join(", ")}` : "");
  const missing = missingOf(view);
  return [
    `Question: ${titleOf(page)}`,
    [...data(cases), ...(classes.length > 0 ? [`durability ${classes.join(", ")}`] : [])].join(" · "),
    hostWords(page.summary.host),
    trust,
    missing.length > 0 ? `Missing: ${missing.join("; ")}` : "",
    `kvdyno ${run.program}, run ${run.id}`,
  ].filter((line) => line !== "");
}
