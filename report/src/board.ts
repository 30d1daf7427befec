// Filters and order of the list of runs: a control for each property in which the runs differ.

import type { RunEntry } from "./data";
import { h } from "./dom";
import { unique } from "./model";

/** The chosen values, by their names in the address. */
export type Picks = Partial<Record<Pick, string>>;
export type Pick = keyof typeof CHOICES | "from" | "to" | "order";

const CHOICES = {
  engine: { label: "engine", values: (run: RunEntry) => run.engines },
  suite: { label: "suite", values: (run: RunEntry) => [run.suite] },
  machine: { label: "machine", values: (run: RunEntry) => [machineName(run)] },
  drive: { label: "drive", values: (run: RunEntry) => [run.drive ?? ""] },
};
const NAMES = Object.keys(CHOICES) as (keyof typeof CHOICES)[];
const PICKS: readonly Pick[] = [...NAMES, "from", "to", "order"];

const findingsWeight = ({ findings }: RunEntry): number => 1e6 * findings.invalid + findings.warning;
const decidedShare = ({ verdicts }: RunEntry): number => verdicts.figures > 0 ? 1 - verdicts.undecided / verdicts.figures : -1;
const runTime = (run: RunEntry): number => (run.ended_unix_ns ?? 0) - (run.started_unix_ns ?? 0) - run.paused_ns;
const compareBy = (read: (run: RunEntry) => string) => (a: RunEntry, b: RunEntry): number => read(a).localeCompare(read(b));

/** Orders of the list. Equal runs keep the data's order, which is the first one here. */
const ORDERS: Record<string, (a: RunEntry, b: RunEntry) => number> = {
  "newest first": () => 0,
  "oldest first": (a, b) => (a.started_unix_ns ?? 0) - (b.started_unix_ns ?? 0),
  suite: compareBy((run) => run.suite),
  engines: compareBy((run) => run.engines.join()),
  machine: compareBy(machineName),
  drive: compareBy((run) => run.drive ?? ""),
  "most decided": (a, b) => decidedShare(b) - decidedShare(a),
  "fewest findings": (a, b) => findingsWeight(a) - findingsWeight(b),
  "longest first": (a, b) => runTime(b) - runTime(a),
};

export function machineName(run: RunEntry): string {
  return [run.host, run.machine].filter(Boolean).join(": ");
}

export function parsePicks(parameters: URLSearchParams): Picks {
  return Object.fromEntries(PICKS.flatMap((name) => { const value = parameters.get(name); return value ? [[name, value]] : []; }));
}

const startDay = (run: RunEntry): string => new Date((run.started_unix_ns ?? 0) / 1e6).toISOString().slice(0, 10);

/** Returns the runs that match all picks, in the chosen order. A pick that matches no run is ignored. */
export function selectRuns(runs: RunEntry[], picks: Picks): RunEntry[] {
  const filters = NAMES.filter((name) => runs.some((run) => CHOICES[name].values(run).includes(picks[name] ?? "")));
  const selected = runs.filter((run) => filters.every((name) => CHOICES[name].values(run).includes(picks[name] ?? ""))
    && (!picks.from || startDay(run) >= picks.from) && (!picks.to || startDay(run) <= picks.to));
  const order = Object.entries(ORDERS).find(([name]) => name === picks.order)?.[1];
  return order ? selected.sort(order) : selected;
}

/** Creates the controls; a list of one run has none. */
export function createControls(runs: RunEntry[], picks: Picks, pick: (name: Pick, value: string) => void): HTMLElement[] {
  if (runs.length < 2) return [];
  const createSelect = (name: Pick, label: string, values: string[], all: string | null): HTMLElement => {
    const createOption = (value: string, text: string) => h("option", { value, selected: value === (picks[name] ?? "") }, text);
    return h("label", {}, `${label} `, h("select", { "data-pick": name, change: (event) => pick(name, (event.target as HTMLSelectElement).value) },
      ...(all == null ? [] : [createOption("", all)]), ...values.map((value) => createOption(value, value))));
  };
  const createDateInput = (name: Pick): HTMLElement => h("label", {}, `${name} `,
    h("input", { type: "date", value: picks[name] ?? "", "data-pick": name, change: (event) => pick(name, (event.target as HTMLInputElement).value) }));
  const filters = NAMES.flatMap((name) => {
    const values = unique(runs.flatMap(CHOICES[name].values)).filter(Boolean).sort();
    return values.length > 1 || picks[name] ? [createSelect(name, CHOICES[name].label, values, "all")] : [];
  });
  const [first = "", ...orders] = Object.keys(ORDERS);
  return [...filters, createDateInput("from"), createDateInput("to"), createSelect("order", "order", orders, first)];
}
