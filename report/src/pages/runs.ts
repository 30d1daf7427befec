// The list of runs, of a server or a site: which there are, what they come to, how they stand. A
// server compares two of them; a site has the files of each.

import { appearance, linked, part, type Shade } from "../appearance";
import { controls, parsePicks, picked, type Pick, type Picks } from "../board";
import type { RunEntry, RunsData } from "../data";
import { h, keepFocus, type Child } from "../dom";
import { bytes, date, duration, grouped, si } from "../format";
import { poll } from "../poll";
import { stateOf } from "../state";

const EVERY_MS = { running: 2000, idle: 6000 };

interface Choice {
  runs: string[];
  theme: Shade | null;
  picks: Picks;
}

/** What a site has of each run beside its report (crates/kvdyno/src/commands/site.rs). */
const FILES = [["tables.md", "Markdown"], ["workbook.xlsx", "workbook"], ["figures.csv", "CSV"], ["summary.json", "JSON"]] as const;

function parse(hash: string): Choice {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  const theme = parameters.get("theme");
  return { runs: parameters.getAll("run").slice(-2), theme: theme === "light" || theme === "dark" ? theme : null, picks: parsePicks(parameters) };
}

function write({ runs, theme, picks }: Choice): string {
  const parameters = new URLSearchParams([...runs.map((run) => ["run", run]), ...Object.entries(picks)]);
  if (theme) parameters.set("theme", theme);
  const text = parameters.toString();
  return text ? `#${text}` : "";
}

export function runs(root: HTMLElement, first: RunsData): void {
  let data = first, seen = "";
  let choice = parse(location.hash);
  const remember = (next: Choice): void => {
    choice = next;
    history.replaceState(null, "", write(choice) || location.pathname);
  };
  const list = h("div", { id: "runs" }), filters = h("div", { class: "controls" }), bar = h("div", { class: "chooser", role: "status" });
  const missing = h("p", { class: "lost", role: "status", hidden: true }, "The server does not answer. Retrying every few seconds.");

  const show = (): void => {
    const there = choice.runs.filter((name) => data.runs.some((run) => run.name === name));
    if (there.length !== choice.runs.length) remember({ ...choice, runs: there });
    keepFocus(list, "run", () => list.replaceChildren(data.runs.length === 0 ? none(data) : table(picked([...data.runs], choice.picks), data.dir == null, choice, choose)));
    if (!filters.contains(document.activeElement)) filters.replaceChildren(...controls(data.runs, choice.picks, pick));
    if (data.dir != null) bar.replaceChildren(...chooser(data, choice, swap));
  };
  const pick = (name: Pick, value: string): void => {
    const { [name]: _, ...others } = choice.picks;
    remember({ ...choice, picks: value ? { ...others, [name]: value } : others });
    show();
  };
  // Of three, the one chosen first goes.
  const choose = (name: string, on: boolean): void => {
    const others = choice.runs.filter((run) => run !== name);
    remember({ ...choice, runs: on ? [...others, name].slice(-2) : others });
    show();
  };
  const swap = (): void => {
    swapped = !swapped;
    show();
  };
  let swapped = false;

  const chooser = (data: RunsData, { runs, theme }: Choice, swap: () => void): HTMLElement[] => {
    if (data.runs.length < 2) return [];
    if (runs.length < 2) return [h("p", { class: "note" }, runs.length === 0 ? "Choose two runs to compare them." : "Choose a second run to compare this one with.")];
    // The older one is what is compared with, unless it is turned round.
    const order = data.runs.map((run) => run.name);
    const [base = "", other = ""] = [...runs].sort((a, b) => (order.indexOf(b) - order.indexOf(a)) * (swapped ? -1 : 1));
    return [
      h("p", {}, h("span", { class: "faint" }, "base "), base, h("span", { class: "faint" }, " new "), other),
      h("div", { class: "actions" },
        h("button", { type: "button", click: swap }, "Swap"),
        h("a", { class: "go", href: linked(`/compare/${part(base)}/${part(other)}`, theme) }, "Compare")),
    ];
  };

  const button = appearance(() => choice.theme, (theme) => {
    remember({ ...choice, theme });
    show();
  });
  document.title = "Runs: kvdyno";
  root.replaceChildren(
    h("header", { class: "head row" }, h("div", {}, h("p", { class: "kicker" }, ["kvdyno", data.program].join(" ") + (data.dir == null ? "" : ` · ${data.dir}`)), h("h1", {}, "Runs")), button),
    missing, filters, list, bar);
  show();
  addEventListener("hashchange", () => {
    choice = parse(location.hash);
    show();
  });
  if (data.dir == null) return;
  const pace = (): number => (data.runs.some((run) => run.state === "running") ? EVERY_MS.running : EVERY_MS.idle);
  poll("/runs.json", pace, (text) => {
    if (text !== seen) {
      seen = text;
      data = JSON.parse(text) as RunsData;
      show();
    }
    // Of a run at work nothing may have changed but the time.
    for (const run of data.runs) {
      const row = [...list.querySelectorAll<HTMLElement>("tbody tr")].find((row) => row.dataset["name"] === run.name);
      if (run.state === "running") row?.querySelector(".took")?.replaceChildren(took(run));
    }
    return true;
  }, (is) => { missing.hidden = !is; });
}

const none = (data: RunsData): HTMLElement =>
  h("p", {}, `There are no runs${data.dir == null ? "" : ` in ${data.dir}`}. `, h("code", {}, "kvdyno run quick"), " makes one.");

function table(runs: RunEntry[], site: boolean, choice: Choice, choose: (name: string, on: boolean) => void): HTMLElement {
  const heads = [...(site ? [] : [""]), "run", "began (UTC)", "took", "engines", "cases", "findings", "state"];
  return h("table", { class: site ? "runs site" : "runs" },
    h("caption", { class: "hidden" }, "Runs, the newest first"),
    h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col", class: ["took", "cases"].includes(text) ? "number" : "" }, text || h("span", { class: "hidden" }, "choose"))))),
    h("tbody", {}, ...runs.map((run) => row(run, site, choice, choose))));
}

function row(run: RunEntry, site: boolean, choice: Choice, choose: (name: string, on: boolean) => void): HTMLElement {
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
      readable ? h("a", { href: site ? `runs/${part(run.name)}/` + linked("index.html", choice.theme) : linked(`/runs/${part(run.name)}`, choice.theme) }, run.called || run.title || run.suite) : h("span", {}, run.name),
      run.note ? h("span", { class: "sub remark" }, run.note) : null,
      run.answer ? h("span", { class: "sub said" }, run.answer) : null,
      readable ? h("span", { class: "sub" }, [run.called ? run.suite : "", sizeOf(run)].filter(Boolean).join(" · ")) : null,
      h("span", { class: "sub" }, readable ? run.name : run.message ?? ""),
      site ? h("span", { class: "sub files" }, ...FILES.map(([file, label]) => h("a", { href: `runs/${part(run.name)}/${file}`, download: true }, label))) : null),
    cell("began", run.started_unix_ns == null ? "" : date(run.started_unix_ns).replace(" UTC", ""), ...[run.host, run.machine, run.drive].filter(Boolean).map((text) => h("span", { class: "sub" }, text))),
    cell("took number", took(run)),
    cell("engines", run.engines.join(", ")),
    cell("cases number", readable ? `${run.cases_done}/${run.cases_planned}` : ""),
    cell("findings", ...findings(run), ...decided(run)),
    cell("state", h("span", { class: `state ${stateOf(run)[1]}` }, stateOf(run)[0]),
      run.state === "running" ? h("progress", { max: String(Math.max(1, run.cases_planned)), value: String(run.cases_recorded), "aria-label": "Cases done" }) : null));
}

/** `1.06 M × 1,016 B = 1.00 GiB, RAM limit 256 MiB`. */
function sizeOf({ data }: RunEntry): string {
  if (!data) return "";
  const size = `${si(data.records)} × ${grouped(data.record_bytes)} B = ${bytes(data.records * data.record_bytes)}`;
  return data.ram_limit_bytes == null ? size : `${size}, RAM limit ${bytes(data.ram_limit_bytes)}`;
}

/** Of a run at work, how long it has been; of a killed one nobody knows. */
function took(run: RunEntry): string {
  if (run.started_unix_ns == null) return "";
  const end = run.ended_unix_ns ?? (run.state === "running" ? Date.now() * 1e6 : null);
  return end == null ? "" : duration(Math.max(0, Math.round((end - run.started_unix_ns - run.paused_ns) / 1e9) * 1e9));
}

function decided({ verdicts: { figures, undecided } }: RunEntry): Child[] {
  return figures > 0 ? [h("span", { class: "weight" }, `${figures - undecided} of ${figures} decided`)] : [];
}

function findings(run: RunEntry): Child[] {
  const { invalid, warning, info } = run.findings;
  const words: Child[] = [
    invalid > 0 ? h("span", { class: "weight invalid" }, `${invalid} invalid`) : null,
    warning > 0 ? h("span", { class: "weight warning" }, `${warning} warning${warning === 1 ? "" : "s"}`) : null,
    info > 0 ? h("span", { class: "weight" }, `${info} note${info === 1 ? "" : "s"}`) : null,
  ];
  return run.state !== "unreadable" && invalid + warning + info === 0 ? ["none"] : words;
}
