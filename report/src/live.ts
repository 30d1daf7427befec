// A run at work: how far it is, what it is at, how fast that goes. Asked for every two seconds; when a
// case has ended, the whole report is fetched anew.

import { linked, type Shade } from "./appearance";
import type { InFlight, LatencyNow, Live } from "./data";
import { h, svg, type Child } from "./dom";
import { duration, si } from "./format";
import { get, poll } from "./poll";

const EVERY_MS = 2000;

export const home = (shade: Shade | null): Child =>
  h("span", {}, h("a", { href: linked("/", shade), class: "home" }, "All runs"), " · ");

/** Shows how the run gets on; `changed` is given the report's data whenever there is more of it. */
export function watch(panel: HTMLElement, first: Live, changed: (json: string) => void): void {
  let live = first;
  const missing = h("p", { class: "lost", role: "status", hidden: true }, "The server does not answer. Retrying every 2 s.");
  const lost = (is: boolean): void => { missing.hidden = !is; };
  const show = (): void => panel.replaceChildren(...[body(live), missing].filter((part) => part !== null));
  show();
  if (live.state === "complete") return;
  poll(`${location.pathname}/live.json`, () => EVERY_MS, async (text) => {
    const now = JSON.parse(text) as Live;
    if (stand(now) !== stand(live)) changed(await get(`${location.pathname}.json`));
    live = now;
    show();
    return live.state !== "complete";
  }, lost);
}

/** A case that is done again has a record all the time: that another one is at work says that it ended. */
const stand = (live: Live): string =>
  [live.state, live.cases_recorded, live.cases_done, live.in_flight?.case ?? ""].join(" ");

function body(live: Live): HTMLElement | null {
  const { cases_recorded: recorded, cases_planned: planned, in_flight: flight } = live;
  if (live.state === "complete") return null;
  const bar = h("progress", { max: String(Math.max(1, planned)), value: String(recorded), "aria-label": "Cases done" });
  if (live.state !== "running") {
    return h("section", { class: "live partial", "aria-label": "Progress" }, bar,
      h("p", {}, `This run is not active: ${live.cases_done} of ${planned} cases are done. `, h("code", {}, "kvdyno resume RUN"), " continues it."));
  }
  // What is left is told of whole cases: the phase that is under way is taken off.
  const seconds = live.left_s == null ? null : Math.round(Math.max(0, live.left_s - (flight?.phase_s ?? 0)));
  const left = seconds == null ? "" : `, about ${duration(seconds * 1e9)} left`;
  return h("section", { class: "live", "aria-label": "Progress" },
    bar,
    h("p", { class: "stand" }, h("strong", {}, `${recorded} of ${planned} cases`), left),
    flight ? atWork(flight) : h("p", { class: "note" }, recorded === planned ? "All cases are done; the record is being sealed." : "Between two cases."));
}

function atWork(flight: InFlight): HTMLElement {
  const at = flight.phase == null ? -1 : flight.phases.indexOf(flight.phase);
  const steps = flight.phases.map((name, index) =>
    h("li", { class: index < at ? "past" : index === at ? "now" : "", "aria-current": index === at ? "step" : undefined }, name));
  const threads = flight.threads == null ? "" : `, ${flight.threads} thread${flight.threads === 1 ? "" : "s"}`;
  return h("div", { class: "flight" },
    h("p", { class: "case" }, h("strong", {}, flight.engine), `${threads}, ${flight.trial === 0 ? "pilot" : `trial ${flight.trial}`} `, h("code", {}, flight.case)),
    steps.length > 1 ? h("ol", { class: "steps" }, ...steps) : null,
    h("p", { class: "note" }, flight.phase == null ? "The engine is being opened." : `${flight.phase} for ${duration(Math.max(0, flight.phase_s) * 1e9)}`),
    h("div", { class: "gauges" },
      ...flight.roles.map((role) => gauge(`${role.role}, operations`, `${si(lately(role.ops_per_s))}/s`, flight.end_s, role.ops_per_s)),
      ...flight.latencies.flatMap(latency),
      ...machine(flight)));
}

/** An operation's p99, or its median where there were too few for that. */
function latency({ role, op, kind, p50_ns, p99_ns }: LatencyNow): HTMLElement[] {
  const [name, ns] = p99_ns != null ? ["p99", p99_ns] : ["p50", p50_ns];
  if (ns == null) return [];
  const since = kind === "response" ? " since due" : "";
  return [h("div", { class: "gauge" }, h("span", { class: "name" }, `${role}, ${op} ${name}${since}`), h("span", { class: "value" }, duration(ns)))];
}

/** The mean of the last few slices: one alone jumps. */
const lately = (values: number[]): number => {
  const last = values.slice(-3);
  return last.length === 0 ? 0 : last.reduce((sum, value) => sum + value, 0) / last.length;
};

function machine({ machine: line }: InFlight): (HTMLElement | null)[] {
  const one = (name: string, values: (number | null)[], unit: string): HTMLElement | null => {
    const known = values.filter((value) => value != null);
    const last = known.at(-1);
    return last == null ? null : gauge(name, `${si(last)} ${unit}`, line.at_s, values);
  };
  return [
    one("CPU of the process", line.cpu_percent, "%"), one("device reads", line.read_mb_per_s, "MB/s"),
    one("device writes", line.write_mb_per_s, "MB/s"), one("memory", line.rss_mib, "MiB"), one("database", line.database_mib, "MiB"),
  ];
}

const WIDE = 160, HIGH = 34;

/** A number and the line it came by. */
function gauge(name: string, value: string, at: number[], values: (number | null)[]): HTMLElement {
  return h("div", { class: "gauge" }, h("span", { class: "name" }, name), h("span", { class: "value" }, value), trace(at, values));
}

function trace(at: number[], values: (number | null)[]): SVGElement {
  const end = Math.max(...at, 1e-9), most = Math.max(...values.map((value) => value ?? 0), 1e-9);
  const points = values.flatMap((value, index) => value == null ? [] :
    [`${((WIDE * (at[index] ?? 0)) / end).toFixed(1)},${(HIGH - 1 - ((HIGH - 3) * value) / most).toFixed(1)}`]);
  return svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "trace", preserveAspectRatio: "none", "aria-hidden": "true" },
    points.length > 1 ? svg("polyline", { points: points.join(" ") }) : null);
}
