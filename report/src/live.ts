// The progress of a running run: cases, the current case, and rates. The server is asked every two seconds;
// when a case has ended, the whole report is fetched again.

import { withShade, type Shade } from "./appearance";
import type { InFlight, LatencyNow, Live } from "./data";
import { h, svg, type Child } from "./dom";
import { formatDuration, formatSi } from "./format";
import { fetchText, poll } from "./poll";

const EVERY_MS = 2000;

export const homeLink = (shade: Shade | null): Child =>
  h("span", {}, h("a", { href: withShade("/", shade), class: "home" }, "All runs"), " · ");

/** Shows the run's progress; `onChange` receives the report's data whenever a case has ended. */
export function watchRun(panel: HTMLElement, first: Live, onChange: (json: string) => void): void {
  let live = first;
  const missing = h("p", { class: "lost", role: "status", hidden: true }, "The server does not answer. Retrying every 2 s.");
  const showLost = (isLost: boolean): void => { missing.hidden = !isLost; };
  const show = (): void => panel.replaceChildren(...[progressPanel(live), missing].filter((part) => part !== null));
  show();
  if (live.state === "complete") return;
  poll(`${location.pathname}/live.json`, () => EVERY_MS, async (text) => {
    const now = JSON.parse(text) as Live;
    if (progressKey(now) !== progressKey(live)) onChange(await fetchText(`${location.pathname}.json`));
    live = now;
    show();
    return live.state !== "complete";
  }, showLost);
}

/** Returns a key that changes when a case ends. A repeated case has a record all the time: its end shows in the next
 * case in flight. */
const progressKey = (live: Live): string =>
  [live.state, live.cases_recorded, live.cases_done, live.in_flight?.case ?? ""].join(" ");

function progressPanel(live: Live): HTMLElement | null {
  const { cases_recorded: recorded, cases_planned: planned, in_flight: flight } = live;
  if (live.state === "complete") return null;
  const bar = h("progress", { max: String(Math.max(1, planned)), value: String(recorded), "aria-label": "Cases done" });
  if (live.state !== "running") {
    return h("section", { class: "live partial", "aria-label": "Progress" }, bar,
      h("p", {}, `This run is not active: ${live.cases_done} of ${planned} cases are done. `, h("code", {}, "kvdyno resume RUN"), " continues it."));
  }
  // The remaining time is that of whole cases: the time of the current phase is subtracted.
  const seconds = live.left_s == null ? null : Math.round(Math.max(0, live.left_s - (flight?.phase_s ?? 0)));
  const left = seconds == null ? "" : `, about ${formatDuration(seconds * 1e9)} left`;
  return h("section", { class: "live", "aria-label": "Progress" },
    bar,
    h("p", { class: "stand" }, h("strong", {}, `${recorded} of ${planned} cases`), left),
    flight ? caseElement(flight) : h("p", { class: "note" }, recorded === planned ? "All cases are done; the record is being sealed." : "Between two cases."));
}

function caseElement(flight: InFlight): HTMLElement {
  const at = flight.phase == null ? -1 : flight.phases.indexOf(flight.phase);
  const steps = flight.phases.map((name, index) =>
    h("li", { class: index < at ? "past" : index === at ? "now" : "", "aria-current": index === at ? "step" : undefined }, name));
  const threads = flight.threads == null ? "" : `, ${flight.threads} thread${flight.threads === 1 ? "" : "s"}`;
  return h("div", { class: "flight" },
    h("p", { class: "case" }, h("strong", {}, flight.engine), `${threads}, ${flight.trial === 0 ? "pilot" : `trial ${flight.trial}`} `, h("code", {}, flight.case)),
    steps.length > 1 ? h("ol", { class: "steps" }, ...steps) : null,
    h("p", { class: "note" }, flight.phase == null ? "The engine is being opened." : `${flight.phase} for ${formatDuration(Math.max(0, flight.phase_s) * 1e9)}`),
    h("div", { class: "gauges" },
      ...flight.roles.map((role) => createGauge(`${role.role}, operations`, `${formatSi(recentMean(role.ops_per_s))}/s`, flight.end_s, role.ops_per_s)),
      ...flight.latencies.flatMap(latencyGauges),
      ...machineGauges(flight)));
}

/** Creates the gauge of an operation's p99, or of its median with too few operations for p99. */
function latencyGauges({ role, op, kind, p50_ns, p99_ns }: LatencyNow): HTMLElement[] {
  const [name, ns] = p99_ns != null ? ["p99", p99_ns] : ["p50", p50_ns];
  if (ns == null) return [];
  const since = kind === "response" ? " since due" : "";
  return [h("div", { class: "gauge" }, h("span", { class: "name" }, `${role}, ${op} ${name}${since}`), h("span", { class: "value" }, formatDuration(ns)))];
}

/** Returns the mean of the last three slices: single slices vary too much. */
const recentMean = (values: number[]): number => {
  const last = values.slice(-3);
  return last.length === 0 ? 0 : last.reduce((sum, value) => sum + value, 0) / last.length;
};

function machineGauges({ machine: line }: InFlight): (HTMLElement | null)[] {
  const lastGauge = (name: string, values: (number | null)[], unit: string): HTMLElement | null => {
    const readings = values.filter((value) => value != null);
    const last = readings.at(-1);
    return last == null ? null : createGauge(name, `${formatSi(last)} ${unit}`, line.at_s, values);
  };
  return [
    lastGauge("CPU of the process", line.cpu_percent, "%"), lastGauge("device reads", line.read_mb_per_s, "MB/s"),
    lastGauge("device writes", line.write_mb_per_s, "MB/s"), lastGauge("memory", line.rss_mib, "MiB"), lastGauge("database", line.database_mib, "MiB"),
  ];
}

const WIDE = 160, HIGH = 34;

/** Creates a gauge: the last value, and a line of the values before it. */
function createGauge(name: string, value: string, at: number[], values: (number | null)[]): HTMLElement {
  return h("div", { class: "gauge" }, h("span", { class: "name" }, name), h("span", { class: "value" }, value), drawTrace(at, values));
}

function drawTrace(at: number[], values: (number | null)[]): SVGElement {
  const end = Math.max(...at, 1e-9), maximum = Math.max(...values.map((value) => value ?? 0), 1e-9);
  const points = values.flatMap((value, index) => value == null ? [] :
    [`${((WIDE * (at[index] ?? 0)) / end).toFixed(1)},${(HIGH - 1 - ((HIGH - 3) * value) / maximum).toFixed(1)}`]);
  return svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "trace", preserveAspectRatio: "none", "aria-hidden": "true" },
    points.length > 1 ? svg("polyline", { points: points.join(" ") }) : null);
}
