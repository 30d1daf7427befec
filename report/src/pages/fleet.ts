// The page of a fleet: one suite's figures by host, outlier hosts, and the facts that only those have.

import { filterFigures, ARROWS, createChooser, definitionsTable, type Choice } from "../chosen";
import type { Fleet, FleetApart, FleetData, FleetOutlier, FleetFigure } from "../fleets";
import { h } from "../dom";
import { ratioAxis, ratioScale, verdictMark } from "../forest";
import { formatChange, formatDate, NONE, formatValue } from "../format";
import { hostsPlot } from "../hosts";
import { unique } from "../model";
import { download } from "../save";
import { createSection } from "../sections";
import { createStackedTable, createTable } from "../table";
import { figureTitle } from "../titles";

export function showFleet(root: HTMLElement, data: FleetData, json: string): void {
  const { fleet } = data;
  const title = `${fleet.suite}: ${fleet.hosts.length} host${fleet.hosts.length === 1 ? "" : "s"}`;
  document.title = `${title}: kvdyno`;
  const { bar, button, content } = createChooser(fleet.figures, (choice) => h("div", {}, figuresSection(data, choice), hostsTable(fleet, choice)));
  const raw = h("button", { type: "button", class: "raw", click: () => download(new Blob([json], { type: "application/json" }), "fleet.json") },
    `The fleet as JSON (${Math.ceil(json.length / 1024)} KiB)`);
  root.replaceChildren(...[
    h("header", { class: "head row" }, h("div", {}, h("p", { class: "kicker" }, "kvdyno · fleet"), h("h1", {}, title)), button),
    answerLine(fleet), outliersSection(fleet), factsSection(fleet), bar, content, remarksSection(data), createSection("raw", "Raw data", raw),
  ].filter((one) => one !== null));
}

const hostName = (fleet: Fleet, host: number): string => fleet.hosts[host]?.name ?? "";

/** Creates the answer: the outlier hosts. */
function answerLine(fleet: Fleet): HTMLElement {
  const worse = fleet.outlier_hosts.filter((one) => one.worse.length > 0).map((one) => hostName(fleet, one.host));
  const better = fleet.outlier_hosts.filter((one) => one.worse.length === 0).map((one) => hostName(fleet, one.host));
  const answer = fleet.outlier_hosts.length === 0 ? "No host stands apart from the others." : [
    worse.length > 0 ? `Worse than the others: ${worse.join(", ")}.` : "", better.length > 0 ? `Better: ${better.join(", ")}.` : "",
  ].join(" ");
  return h("div", { class: "result" }, h("p", { class: "sentence" }, answer));
}

const figureScope = (spread: FleetFigure): string => spread.role ?? spread.phase;

/** Creates the table of outlier hosts: their outlier figures, and the facts that only such hosts have. */
function outliersSection(fleet: Fleet): HTMLElement | null {
  if (fleet.outlier_hosts.length === 0) return null;
  const listFigures = (one: FleetApart, places: number[]) => places.map((at) => {
    const spread = fleet.figures[at];
    if (!spread) return "";
    return `${spread.case}, ${figureScope(spread)}: ${figureTitle(spread.figure)} ${formatChange(spread.outliers.find((outlier) => outlier.host === one.host)?.ratio ?? null)}`;
  }).join("; ") || NONE;
  const listFacts = (one: FleetApart) => one.only_apart.map((at) => `${fleet.facts[at]?.name ?? ""} ${fleet.facts[at]?.values[one.host] ?? ""}`).join("; ") || NONE;
  return createSection("apart", "Hosts that stand apart",
    createStackedTable({ head: ["host", "worse than the others", "better", "only on hosts that stand apart"], words: 4,
      rows: fleet.outlier_hosts.map((one) => [hostName(fleet, one.host), listFigures(one, one.worse), listFigures(one, one.better), listFacts(one)]) }, "Hosts that stand apart"),
    h("p", { class: "note" }, "A difference that only these hosts have is not proof of a cause. Change it and run the suite again."));
}

/** Creates the table of facts in which the hosts differ, the most frequent value first. */
function factsSection(fleet: Fleet): HTMLElement | null {
  if (fleet.facts.length === 0) return null;
  const rows = fleet.facts.flatMap((fact) => {
    const values = unique(fact.values).sort((a, b) => Number(b === fact.most) - Number(a === fact.most));
    return values.map((value, at) => [at === 0 ? fact.name : "", value, fact.values.flatMap((other, host) => (other === value ? [hostName(fleet, host)] : [])).join(", ")]);
  });
  return createSection("differs", "Differences between hosts", createTable({ head: ["what", "value", "hosts"], words: 3, rows }, "Differences between hosts"));
}

function figuresSection(data: FleetData, choice: Choice): HTMLElement {
  const { fleet } = data;
  const list = filterFigures(fleet.figures, choice);
  const ratios = list.flatMap((spread) => spread.values.flatMap((value) => (value == null || spread.median <= 0 ? [] : [{ ratio: value / spread.median, ratio_low: null, ratio_high: null }])));
  const scale = ratioScale(ratios);
  const head = h("tr", {}, h("th", { scope: "col" }, "figure"), h("th", { scope: "col", class: "plot" }, ratioAxis(scale)),
    ...["lowest", "median", "highest"].map((text) => h("th", { scope: "col", class: "number" }, text)), h("th", { scope: "col" }, "apart"));
  const figureHelp = (figure: string) => data.definitions.find((one) => one.name === figure)?.help;
  const body = unique(list.map((spread) => spread.case)).map((one) => h("tbody", {},
    h("tr", { class: "pair" }, h("th", { scope: "rowgroup", colspan: "6" }, one)),
    ...list.filter((spread) => spread.case === one).map((spread) => {
      const values = spread.values.filter((value) => value != null);
      const numberCell = (value: number, name: string) => h("td", { class: "number", "data-name": name }, values.length === 0 ? NONE : formatValue(value, spread.unit));
      const outlierMark = (outlier: FleetOutlier) => h("span", { class: "apart" }, verdictMark(outlier.better ? "improved" : "regressed"), ` ${hostName(fleet, outlier.host)} ${formatChange(outlier.ratio)} `);
      return h("tr", {},
        h("th", { scope: "row", title: figureHelp(spread.figure) }, h("span", { class: "scope" }, figureScope(spread)), ` ${figureTitle(spread.figure)} `, h("span", { class: "way" }, ARROWS[spread.direction])),
        h("td", { class: "plot" }, hostsPlot(spread, fleet.hosts, scale)),
        numberCell(Math.min(...values), "lowest"), numberCell(spread.median, "median"), numberCell(Math.max(...values), "highest"),
        h("td", {}, ...(spread.outliers.length === 0 ? [NONE] : spread.outliers.map(outlierMark))));
    })));
  return createSection("figures", "Figures",
    h("p", { class: "note" }, "A dot is a host, by its share of the hosts' median. ↑ more is better, ↓ less is better."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures over the hosts" },
      h("table", { class: "pairs courses" }, h("caption", { class: "hidden" }, "Figures over the hosts"), h("thead", {}, head), ...body)));
}

/** Creates the table of the same figures as numbers. */
function hostsTable(fleet: Fleet, choice: Choice): HTMLElement {
  const list = filterFigures(fleet.figures, choice);
  const hostCell = (spread: FleetFigure, host: number) => {
    const value = spread.values[host];
    return value == null ? NONE : formatValue(value, spread.unit) + (spread.outliers.some((one) => one.host === host) ? " *" : "");
  };
  return h("details", {}, h("summary", {}, "Each host's figures (* stands apart)"),
    createTable({ head: ["case", "of", "figure", ...fleet.hosts.map((host) => host.name)], words: 3,
      rows: list.map((spread) => [spread.case, figureScope(spread), figureTitle(spread.figure), ...fleet.hosts.map((_, host) => hostCell(spread, host))]) }, "Each host's figures"));
}

function remarksSection(data: FleetData): HTMLElement {
  return createSection("method", "How sure this is",
    h("dl", { class: "facts" }, ...data.remarks.flatMap(([word, text]) => [h("dt", {}, word), h("dd", {}, text)])),
    h("p", { class: "note" }, data.aid),
    h("details", {}, h("summary", {}, "The hosts"),
      createTable({ head: ["host", "began", "run", "machine", "drive"], words: 6,
        rows: data.fleet.hosts.map((host) => [host.name, formatDate(host.started_unix_ns), host.run, host.machine, host.drive_health ?? NONE]) }, "Hosts")),
    definitionsTable(data.definitions));
}
