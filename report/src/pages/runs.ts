// The list of runs of a server or a site, with their answers and states. A server compares two runs; a
// site has the files of each.

import { parseHash, parseShade, formatHash, storeHash } from "../address";
import { createShadeButton, withShade, encodePart, type Shade } from "../appearance";
import { createControls, parsePicks, selectRuns, type Pick, type Picks } from "../board";
import type { RunEntry, RunsData } from "../data";
import { h, keepFocus, type Child } from "../dom";
import { formatBytes, formatDate, formatDuration, formatThousands, formatSi } from "../format";
import { poll } from "../poll";
import { runState } from "../state";

const EVERY_MS = { running: 2000, idle: 6000 };

interface Choice {
  runs: string[];
  theme: Shade | null;
  picks: Picks;
}

/** The files that a site has of each run, next to its report (crates/kvdyno/src/commands/site.rs). */
const FILES = [["tables.md", "Markdown"], ["workbook.xlsx", "workbook"], ["figures.csv", "CSV"], ["summary.json", "JSON"]] as const;

function parseChoice(hash: string): Choice {
  const parameters = parseHash(hash);
  return { runs: parameters.getAll("run").slice(-2), theme: parseShade(parameters), picks: parsePicks(parameters) };
}

function formatChoice({ runs, theme, picks }: Choice): string {
  const parameters = new URLSearchParams([...runs.map((run) => ["run", run]), ...Object.entries(picks)]);
  if (theme) parameters.set("theme", theme);
  return formatHash(parameters);
}

export function showRuns(root: HTMLElement, first: RunsData): void {
  let data = first, lastText = "";
  let choice = parseChoice(location.hash);
  const storeChoice = (next: Choice): void => {
    choice = next;
    storeHash(formatChoice(choice));
  };
  const list = h("div", { id: "runs" }), filters = h("div", { class: "controls" }), bar = h("div", { class: "chooser", role: "status" });
  const missing = h("p", { class: "lost", role: "status", hidden: true }, "The server does not answer. Retrying every few seconds.");

  const show = (): void => {
    const chosenRuns = choice.runs.filter((name) => data.runs.some((run) => run.name === name));
    if (chosenRuns.length !== choice.runs.length) storeChoice({ ...choice, runs: chosenRuns });
    keepFocus(list, "run", () => list.replaceChildren(data.runs.length === 0 ? noRuns(data) : runsTable(selectRuns([...data.runs], choice.picks), data.dir == null, choice, toggleRun)));
    if (!filters.contains(document.activeElement)) filters.replaceChildren(...createControls(data.runs, choice.picks, setPick));
    if (data.dir != null) bar.replaceChildren(...chooserElements(data, choice, swapSides));
  };
  const setPick = (name: Pick, value: string): void => {
    const { [name]: _, ...others } = choice.picks;
    storeChoice({ ...choice, picks: value ? { ...others, [name]: value } : others });
    show();
  };
  // The third chosen run replaces the first.
  const toggleRun = (name: string, isChosen: boolean): void => {
    const others = choice.runs.filter((run) => run !== name);
    storeChoice({ ...choice, runs: isChosen ? [...others, name].slice(-2) : others });
    show();
  };
  const swapSides = (): void => {
    swapped = !swapped;
    show();
  };
  let swapped = false;

  const chooserElements = (data: RunsData, { runs, theme }: Choice, swap: () => void): HTMLElement[] => {
    if (data.runs.length < 2) return [];
    if (runs.length < 2) return [h("p", { class: "note" }, runs.length === 0 ? "Choose two runs to compare them." : "Choose a second run to compare this one with.")];
    // The older run is the base, unless the sides are swapped.
    const order = data.runs.map((run) => run.name);
    const [base = "", other = ""] = [...runs].sort((a, b) => (order.indexOf(b) - order.indexOf(a)) * (swapped ? -1 : 1));
    return [
      h("p", {}, h("span", { class: "faint" }, "base "), base, h("span", { class: "faint" }, " new "), other),
      h("div", { class: "actions" },
        h("button", { type: "button", click: swap }, "Swap"),
        h("a", { class: "go", href: withShade(`/compare/${encodePart(base)}/${encodePart(other)}`, theme) }, "Compare")),
    ];
  };

  const button = createShadeButton(() => choice.theme, (theme) => {
    storeChoice({ ...choice, theme });
    show();
  });
  document.title = "Runs: kvdyno";
  root.replaceChildren(
    h("header", { class: "head row" }, h("div", {}, h("p", { class: "kicker" }, ["kvdyno", data.program].join(" ") + (data.dir == null ? "" : ` · ${data.dir}`)), h("h1", {}, "Runs")), button),
    missing, filters, list, bar);
  show();
  addEventListener("hashchange", () => {
    choice = parseChoice(location.hash);
    show();
  });
  if (data.dir == null) return;
  const pollInterval = (): number => (data.runs.some((run) => run.state === "running") ? EVERY_MS.running : EVERY_MS.idle);
  poll("/runs.json", pollInterval, (text) => {
    if (text !== lastText) {
      lastText = text;
      data = JSON.parse(text) as RunsData;
      show();
    }
    // The time of a running run changes without new data.
    for (const run of data.runs) {
      const row = [...list.querySelectorAll<HTMLElement>("tbody tr")].find((row) => row.dataset["name"] === run.name);
      if (run.state === "running") row?.querySelector(".took")?.replaceChildren(formatRunTime(run));
    }
    return true;
  }, (isLost) => { missing.hidden = !isLost; });
}

const noRuns = (data: RunsData): HTMLElement =>
  h("p", {}, `There are no runs${data.dir == null ? "" : ` in ${data.dir}`}. `, h("code", {}, "kvdyno run quick"), " makes one.");

function runsTable(runs: RunEntry[], site: boolean, choice: Choice, choose: (name: string, isChosen: boolean) => void): HTMLElement {
  const heads = [...(site ? [] : [""]), "run", "began (UTC)", "took", "engines", "cases", "findings", "state"];
  return h("table", { class: site ? "runs site" : "runs" },
    h("caption", { class: "hidden" }, "Runs, the newest first"),
    h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col", class: ["took", "cases"].includes(text) ? "number" : "" }, text || h("span", { class: "hidden" }, "choose"))))),
    h("tbody", {}, ...runs.map((run) => runRow(run, site, choice, choose))));
}

function runRow(run: RunEntry, site: boolean, choice: Choice, choose: (name: string, isChosen: boolean) => void): HTMLElement {
  const readable = run.state !== "unreadable";
  const chosen = choice.runs.includes(run.name);
  const box = h("input", {
    type: "checkbox", "data-run": run.name, "aria-label": `Compare ${run.name}`, checked: chosen,
    change: (event) => choose(run.name, (event.target as HTMLInputElement).checked),
  });
  const cell = (name: string, ...children: Child[]) => h("td", { class: name, "data-name": name }, ...children);
  return h("tr", { class: chosen ? "chosen" : "", "data-name": run.name, "data-state": run.state },
    site ? null : cell("choose", readable ? box : null),
    h("th", { scope: "row", class: "run" },
      readable ? h("a", { href: site ? `runs/${encodePart(run.name)}/` + withShade("index.html", choice.theme) : withShade(`/runs/${encodePart(run.name)}`, choice.theme) }, run.called || run.title || run.suite) : h("span", {}, run.name),
      run.note ? h("span", { class: "sub remark" }, run.note) : null,
      run.answer ? h("span", { class: "sub said" }, run.answer) : null,
      readable ? h("span", { class: "sub" }, [run.called ? run.suite : "", formatDataSize(run)].filter(Boolean).join(" · ")) : null,
      h("span", { class: "sub" }, readable ? run.name : run.message ?? ""),
      site ? h("span", { class: "sub files" }, ...FILES.map(([file, label]) => h("a", { href: `runs/${encodePart(run.name)}/${file}`, download: true }, label))) : null),
    cell("began", run.started_unix_ns == null ? "" : formatDate(run.started_unix_ns).replace(" UTC", ""), ...[run.host, run.machine, run.drive].filter(Boolean).map((text) => h("span", { class: "sub" }, text))),
    cell("took number", formatRunTime(run)),
    cell("engines", run.engines.join(", ")),
    cell("cases number", readable ? `${run.cases_done}/${run.cases_planned}` : ""),
    cell("findings", ...findingElements(run), ...decidedElements(run)),
    cell("state", h("span", { class: `state ${runState(run)[1]}` }, runState(run)[0]),
      run.state === "running" ? h("progress", { max: String(Math.max(1, run.cases_planned)), value: String(run.cases_recorded), "aria-label": "Cases done" }) : null));
}

/** Returns `1.06 M × 1,016 B = 1.00 GiB, RAM limit 256 MiB`. */
function formatDataSize({ data }: RunEntry): string {
  if (!data) return "";
  const size = `${formatSi(data.records)} × ${formatThousands(data.record_bytes)} B = ${formatBytes(data.records * data.record_bytes)}`;
  return data.ram_limit_bytes == null ? size : `${size}, RAM limit ${formatBytes(data.ram_limit_bytes)}`;
}

/** Formats the time that a run took, or has taken so far; empty: a killed run, whose end is unknown. */
function formatRunTime(run: RunEntry): string {
  if (run.started_unix_ns == null) return "";
  const end = run.ended_unix_ns ?? (run.state === "running" ? Date.now() * 1e6 : null);
  return end == null ? "" : formatDuration(Math.max(0, Math.round((end - run.started_unix_ns - run.paused_ns) / 1e9) * 1e9));
}

function decidedElements({ verdicts: { figures, undecided } }: RunEntry): Child[] {
  return figures > 0 ? [h("span", { class: "weight" }, `${figures - undecided} of ${figures} decided`)] : [];
}

function findingElements(run: RunEntry): Child[] {
  const { invalid, warning, info } = run.findings;
  const words: Child[] = [
    invalid > 0 ? h("span", { class: "weight invalid" }, `${invalid} invalid`) : null,
    warning > 0 ? h("span", { class: "weight warning" }, `${warning} warning${warning === 1 ? "" : "s"}`) : null,
    info > 0 ? h("span", { class: "weight" }, `${info} note${info === 1 ? "" : "s"}`) : null,
  ];
  return run.state !== "unreadable" && invalid + warning + info === 0 ? ["none"] : words;
}
