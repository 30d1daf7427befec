// The page of a fleet: one suite's figures by host, the hosts that stand apart, and what only they have.

import { among, ARROWS, chosen, defined, type Choice } from "../chosen";
import type { Fleet, FleetApart, FleetData, FleetOutlier, FleetFigure } from "../fleets";
import { h } from "../dom";
import { axis, scaleOf, verdictMark } from "../forest";
import { by, date, NONE, reading } from "../format";
import { hostsPlot } from "../hosts";
import { unique } from "../model";
import { download } from "../save";
import { section } from "../sections";
import { stacked, table } from "../table";
import { titled } from "../titles";

export function fleet(root: HTMLElement, data: FleetData, json: string): void {
  const { fleet } = data;
  const title = `${fleet.suite}: ${fleet.hosts.length} host${fleet.hosts.length === 1 ? "" : "s"}`;
  document.title = `${title}: kvdyno`;
  const { bar, button, shown } = chosen(fleet.figures, (choice) => h("div", {}, figures(data, choice), byHost(fleet, choice)));
  const raw = h("button", { type: "button", class: "raw", click: () => download(new Blob([json], { type: "application/json" }), "fleet.json") },
    `The fleet as JSON (${Math.ceil(json.length / 1024)} KiB)`);
  root.replaceChildren(...[
    h("header", { class: "head row" }, h("div", {}, h("p", { class: "kicker" }, "kvdyno · fleet"), h("h1", {}, title)), button),
    answer(fleet), apart(fleet), differs(fleet), bar, shown, remarks(data), section("raw", "Raw data", raw),
  ].filter((one) => one !== null));
}

const name = (fleet: Fleet, host: number): string => fleet.hosts[host]?.name ?? "";

/** What is asked first. */
function answer(fleet: Fleet): HTMLElement {
  const worse = fleet.outlier_hosts.filter((one) => one.worse.length > 0).map((one) => name(fleet, one.host));
  const better = fleet.outlier_hosts.filter((one) => one.worse.length === 0).map((one) => name(fleet, one.host));
  const said = fleet.outlier_hosts.length === 0 ? "No host stands apart from the others." : [
    worse.length > 0 ? `Worse than the others: ${worse.join(", ")}.` : "", better.length > 0 ? `Better: ${better.join(", ")}.` : "",
  ].join(" ");
  return h("div", { class: "result" }, h("p", { class: "sentence" }, said));
}

const scopeOf = (spread: FleetFigure): string => spread.role ?? spread.phase;

/** Each host that stands apart, in what, and what only such hosts have. */
function apart(fleet: Fleet): HTMLElement | null {
  if (fleet.outlier_hosts.length === 0) return null;
  const list = (one: FleetApart, places: number[]) => places.map((at) => {
    const spread = fleet.figures[at];
    if (!spread) return "";
    return `${spread.case}, ${scopeOf(spread)}: ${titled(spread.figure)} ${by(spread.outliers.find((found) => found.host === one.host)?.ratio ?? null)}`;
  }).join("; ") || NONE;
  const only = (one: FleetApart) => one.only_apart.map((at) => `${fleet.facts[at]?.name ?? ""} ${fleet.facts[at]?.values[one.host] ?? ""}`).join("; ") || NONE;
  return section("apart", "Hosts that stand apart",
    stacked({ head: ["host", "worse than the others", "better", "only on hosts that stand apart"], words: 4,
      rows: fleet.outlier_hosts.map((one) => [name(fleet, one.host), list(one, one.worse), list(one, one.better), only(one)]) }, "Hosts that stand apart"),
    h("p", { class: "note" }, "A difference that only these hosts have is not proof of a cause. Change it and run the suite again."));
}

/** Facts in which the hosts differ, what most have first. */
function differs(fleet: Fleet): HTMLElement | null {
  if (fleet.facts.length === 0) return null;
  const rows = fleet.facts.flatMap((fact) => {
    const values = unique(fact.values).sort((a, b) => Number(b === fact.most) - Number(a === fact.most));
    return values.map((value, at) => [at === 0 ? fact.name : "", value, fact.values.flatMap((other, host) => (other === value ? [name(fleet, host)] : [])).join(", ")]);
  });
  return section("differs", "Differences between hosts", table({ head: ["what", "value", "hosts"], words: 3, rows }, "Differences between hosts"));
}

function figures(data: FleetData, choice: Choice): HTMLElement {
  const { fleet } = data;
  const list = among(fleet.figures, choice);
  const ratios = list.flatMap((spread) => spread.values.flatMap((value) => (value == null || spread.median <= 0 ? [] : [{ ratio: value / spread.median, ratio_low: null, ratio_high: null }])));
  const scale = scaleOf(ratios);
  const head = h("tr", {}, h("th", { scope: "col" }, "figure"), h("th", { scope: "col", class: "plot" }, axis(scale)),
    ...["lowest", "median", "highest"].map((text) => h("th", { scope: "col", class: "number" }, text)), h("th", { scope: "col" }, "apart"));
  const help = (figure: string) => data.definitions.find((one) => one.name === figure)?.help;
  const body = unique(list.map((spread) => spread.case)).map((one) => h("tbody", {},
    h("tr", { class: "pair" }, h("th", { scope: "rowgroup", colspan: "6" }, one)),
    ...list.filter((spread) => spread.case === one).map((spread) => {
      const known = spread.values.filter((value) => value != null);
      const number = (value: number, of: string) => h("td", { class: "number", "data-name": of }, known.length === 0 ? NONE : reading(value, spread.unit));
      const found = (outlier: FleetOutlier) => h("span", { class: "apart" }, verdictMark(outlier.better ? "improved" : "regressed"), ` ${name(fleet, outlier.host)} ${by(outlier.ratio)} `);
      return h("tr", {},
        h("th", { scope: "row", title: help(spread.figure) }, h("span", { class: "scope" }, scopeOf(spread)), ` ${titled(spread.figure)} `, h("span", { class: "way" }, ARROWS[spread.direction])),
        h("td", { class: "plot" }, hostsPlot(spread, fleet.hosts, scale)),
        number(Math.min(...known), "lowest"), number(spread.median, "median"), number(Math.max(...known), "highest"),
        h("td", {}, ...(spread.outliers.length === 0 ? [NONE] : spread.outliers.map(found))));
    })));
  return section("figures", "Figures",
    h("p", { class: "note" }, "A dot is a host, by its share of the hosts' median. ↑ more is better, ↓ less is better."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures over the hosts" },
      h("table", { class: "pairs courses" }, h("caption", { class: "hidden" }, "Figures over the hosts"), h("thead", {}, head), ...body)));
}

/** The same as numbers. */
function byHost(fleet: Fleet, choice: Choice): HTMLElement {
  const list = among(fleet.figures, choice);
  const cell = (spread: FleetFigure, host: number) => {
    const value = spread.values[host];
    return value == null ? NONE : reading(value, spread.unit) + (spread.outliers.some((one) => one.host === host) ? " *" : "");
  };
  return h("details", {}, h("summary", {}, "Each host's figures (* stands apart)"),
    table({ head: ["case", "of", "figure", ...fleet.hosts.map((host) => host.name)], words: 3,
      rows: list.map((spread) => [spread.case, scopeOf(spread), titled(spread.figure), ...fleet.hosts.map((_, host) => cell(spread, host))]) }, "Each host's figures"));
}

function remarks(data: FleetData): HTMLElement {
  return section("method", "How sure this is",
    h("dl", { class: "facts" }, ...data.remarks.flatMap(([word, text]) => [h("dt", {}, word), h("dd", {}, text)])),
    h("p", { class: "note" }, data.aid),
    h("details", {}, h("summary", {}, "The hosts"),
      table({ head: ["host", "began", "run", "machine", "drive"], words: 6,
        rows: data.fleet.hosts.map((host) => [host.name, date(host.started_unix_ns), host.run, host.machine, host.drive_health ?? NONE]) }, "Hosts")),
    defined(data.definitions));
}
