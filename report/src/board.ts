// Which runs of a list are shown, and in which order: a control for each thing that differs.

import type { RunEntry } from "./data";
import { h } from "./dom";
import { unique } from "./model";

/** What is chosen, by its name in the address. */
export type Picks = Partial<Record<Pick, string>>;
export type Pick = keyof typeof CHOICES | "from" | "to" | "order";

const CHOICES = {
  engine: { label: "engine", values: (run: RunEntry) => run.engines },
  suite: { label: "suite", values: (run: RunEntry) => [run.suite] },
  machine: { label: "machine", values: (run: RunEntry) => [machineOf(run)] },
  drive: { label: "drive", values: (run: RunEntry) => [run.drive ?? ""] },
};
const NAMES = Object.keys(CHOICES) as (keyof typeof CHOICES)[];
const PICKS: readonly Pick[] = [...NAMES, "from", "to", "order"];

const weight = ({ findings }: RunEntry): number => 1e6 * findings.invalid + findings.warning;
const decided = ({ verdicts }: RunEntry): number => verdicts.figures > 0 ? 1 - verdicts.undecided / verdicts.figures : -1;
const took = (run: RunEntry): number => (run.ended_unix_ns ?? 0) - (run.started_unix_ns ?? 0) - run.paused_ns;
const byText = (read: (run: RunEntry) => string) => (a: RunEntry, b: RunEntry): number => read(a).localeCompare(read(b));

/** Orders, the newest first among equals; the first one is the data's own. */
const ORDERS: Record<string, (a: RunEntry, b: RunEntry) => number> = {
  "newest first": () => 0,
  "oldest first": (a, b) => (a.started_unix_ns ?? 0) - (b.started_unix_ns ?? 0),
  suite: byText((run) => run.suite),
  engines: byText((run) => run.engines.join()),
  machine: byText(machineOf),
  drive: byText((run) => run.drive ?? ""),
  "most decided": (a, b) => decided(b) - decided(a),
  "fewest findings": (a, b) => weight(a) - weight(b),
  "longest first": (a, b) => took(b) - took(a),
};

export function machineOf(run: RunEntry): string {
  return [run.host, run.machine].filter(Boolean).join(": ");
}

export function parsePicks(parameters: URLSearchParams): Picks {
  return Object.fromEntries(PICKS.flatMap((name) => { const value = parameters.get(name); return value ? [[name, value]] : []; }));
}

const day = (run: RunEntry): string => new Date((run.started_unix_ns ?? 0) / 1e6).toISOString().slice(0, 10);

/** The runs that all picks leave, in their order. A pick that no run has leaves all. */
export function picked(runs: RunEntry[], picks: Picks): RunEntry[] {
  const wanted = NAMES.filter((name) => runs.some((run) => CHOICES[name].values(run).includes(picks[name] ?? "")));
  const left = runs.filter((run) => wanted.every((name) => CHOICES[name].values(run).includes(picks[name] ?? ""))
    && (!picks.from || day(run) >= picks.from) && (!picks.to || day(run) <= picks.to));
  const order = Object.entries(ORDERS).find(([name]) => name === picks.order)?.[1];
  return order ? left.sort(order) : left;
}

/** The controls; none for one run. */
export function controls(runs: RunEntry[], picks: Picks, pick: (name: Pick, value: string) => void): HTMLElement[] {
  if (runs.length < 2) return [];
  const select = (name: Pick, label: string, values: string[], all: string | null): HTMLElement => {
    const option = (value: string, text: string) => h("option", { value, selected: value === (picks[name] ?? "") }, text);
    return h("label", {}, `${label} `, h("select", { "data-pick": name, change: (event) => pick(name, (event.target as HTMLSelectElement).value) },
      ...(all == null ? [] : [option("", all)]), ...values.map((value) => option(value, value))));
  };
  const date = (name: Pick): HTMLElement => h("label", {}, `${name} `,
    h("input", { type: "date", value: picks[name] ?? "", "data-pick": name, change: (event) => pick(name, (event.target as HTMLInputElement).value) }));
  const filters = NAMES.flatMap((name) => {
    const values = unique(runs.flatMap(CHOICES[name].values)).filter(Boolean).sort();
    return values.length > 1 || picks[name] ? [select(name, CHOICES[name].label, values, "all")] : [];
  });
  const [first = "", ...orders] = Object.keys(ORDERS);
  return [...filters, date("from"), date("to"), select("order", "order", orders, first)];
}
