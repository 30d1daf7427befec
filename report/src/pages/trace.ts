// The page of a trace: its mix, the sizes of keys and values, the popularity of keys, the hits of a cache, and the
// working set over time.

import { parseHash, parseShade, storeHash } from "../address";
import { createShadeButton } from "../appearance";
import { h } from "../dom";
import { formatBytes, formatDuration, formatThousands, NONE, formatSi } from "../format";
import { roundUp } from "../layout";
import { barPlot, linePlot, logPosition, powerMarks, rangePlot, type Bar, type Marks } from "../plot";
import { download } from "../save";
import { createSection } from "../sections";
import { createTable, type TableData } from "../table";
import { isBlockTrace, summarizeTrace, formatShare, keyNoun, type Trace, type TraceData, type TraceQuantiles } from "../traces";

export function showTrace(root: HTMLElement, data: TraceData, json: string): void {
  const { trace } = data;
  const title = `${trace.header.file}: ${formatSi(trace.header.requests)} requests`;
  document.title = `${title}: kvdyno`;
  const button = createShadeButton(() => parseShade(parseHash(location.hash)), (shade) => storeHash(`#theme=${shade}`));
  const raw = h("button", { type: "button", class: "raw", click: () => download(new Blob([json], { type: "application/json" }), "trace.json") },
    `The statistics as JSON (${Math.ceil(json.length / 1024)} KiB)`);
  const facts = h("dl", { class: "facts" }, ...data.remarks.flatMap(([word, text]) => [h("dt", {}, word), h("dd", {}, text)]));
  root.replaceChildren(...[
    h("header", { class: "head row" }, h("div", {}, h("p", { class: "kicker" }, "kvdyno · trace"), h("h1", {}, title)), button),
    h("div", { class: "result" }, h("p", { class: "sentence" }, summarizeTrace(trace))),
    facts, mixSection(trace), sizesSection(trace), popularitySection(trace), windowsSection(trace), methodSection(trace), createSection("raw", "Raw data", raw),
  ].filter((one) => one !== null));
}

/** Creates a figure with its table. */
const createFigure = (name: string, heading: string, note: string, plot: HTMLElement, tableData: TableData): HTMLElement =>
  h("figure", { class: "figure", "data-figure": name, "data-drawn": "page" },
    h("figcaption", {}, h("h3", {}, heading), h("p", { class: "note" }, note)), plot,
    h("details", {}, h("summary", {}, "Table"), createTable(tableData, heading)));

function mixSection(trace: Trace): HTMLElement | null {
  const ops = Object.entries(trace.header.ops).sort(([, a], [, b]) => b - a);
  if (ops.length === 0) return null;
  const rows = ops.map(([op, count]) => {
    const part = trace.mix[op] ?? 0;
    return h("tr", {}, h("th", { scope: "row" }, op.replaceAll("_", " ")), h("td", { class: "number" }, formatThousands(count)), h("td", { class: "number" }, formatShare(part)),
      h("td", { class: "wide" }, h("span", { class: "part", style: `width:${(part * 100).toFixed(2)}%` })));
  });
  return createSection("mix", "What was asked for", h("table", { class: "parts" }, h("caption", { class: "hidden" }, "Requests by operation"),
    h("thead", {}, h("tr", {}, ...["operation", "requests", "share", ""].map((text, at) => h("th", { scope: "col", class: at === 1 || at === 2 ? "number" : "" }, text)))),
    h("tbody", {}, ...rows)));
}

const QUANTILES = ["min", "p50", "p90", "p99", "max"] as const;

function sizesSection(trace: Trace): HTMLElement | null {
  const written = isBlockTrace(trace) ? "writes" : "values written", read = isBlockTrace(trace) ? "reads" : "values read";
  const all: [string, TraceQuantiles | null][] = [["keys", trace.key_bytes], [written, trace.written_bytes], [read, trace.read_bytes]];
  const quantiles = all.flatMap(([name, one]) => (one ? [{ name, one }] : []));
  if (quantiles.length === 0) return null;
  const low = Math.min(...quantiles.map(({ one }) => Math.max(1, one.min))), high = Math.max(...quantiles.map(({ one }) => one.max), low * 10);
  const head = h("tr", {}, h("th", { scope: "col" }, "bytes of"), h("th", { scope: "col", class: "plot" }, ""),
    ...[...QUANTILES, "mean", "requests"].map((text) => h("th", { scope: "col", class: "number" }, text)));
  const rows = quantiles.map(({ name, one }) => {
    const values = QUANTILES.map((at) => one[at]);
    return h("tr", {}, h("th", { scope: "row" }, name),
      h("td", { class: "plot" }, rangePlot(values, low, high, QUANTILES.map((at) => `${at} ${formatBytes(one[at])}`).join(", "))),
      ...values.map((value, at) => h("td", { class: "number", "data-name": QUANTILES[at] ?? "" }, formatBytes(value))),
      h("td", { class: "number", "data-name": "mean" }, formatBytes(one.mean)), h("td", { class: "number", "data-name": "requests" }, formatThousands(one.count)));
  });
  return createSection("sizes", "Sizes",
    h("p", { class: "note" }, "From the shortest to the longest on an axis of powers of ten; the large dot is the median, the small ones p90 and p99."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Sizes by quantile" },
      h("table", { class: "pairs courses sizes" }, h("caption", { class: "hidden" }, "Sizes by quantile"), h("thead", {}, head), h("tbody", {}, ...rows))));
}

function popularitySection(trace: Trace): HTMLElement | null {
  const points = trace.popular;
  // A share of less than one key is not shown.
  const shownPoints = points.filter((one) => one.keys * trace.distinct >= 1);
  const [first] = shownPoints;
  if (!first || shownPoints.length < 2 || trace.header.requests === 0) return null;
  const name = keyNoun(trace);
  const linePoints = (value: (one: (typeof points)[number]) => number) => shownPoints.map((one): [number, number] => [logPosition(one.keys, first.keys, 1), value(one)]);
  const lines = [
    { name: `go to the most popular ${name}`, points: linePoints((one) => one.requests) },
    { name: "an LRU cache of as many has", points: linePoints((one) => one.lru_hits) },
  ];
  return createSection("popular", "Popularity and reuse", createFigure("popular", `Share of requests by share of the ${name}`,
    `An LRU cache never has a first request. Where its line is far below the other, the popular ${name} change, or their requests lie far apart.`,
    linePlot(lines, powerMarks(first.keys, 1, (value) => `${Number((value * 100).toPrecision(2))} %`), quarterMarks(1, formatShare), `Requests by share of ${name}`),
    { head: [`of the ${name}`, name, ...lines.map((one) => one.name)], words: 0,
      rows: shownPoints.map((one) => [formatShare(one.keys), formatThousands(one.keys * trace.distinct), formatShare(one.requests), formatShare(one.lru_hits)]) }));
}

/** Returns the marks of an axis from zero, in quarters. */
const quarterMarks = (maximum: number, text: (value: number) => string): Marks => [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, text: text(at * maximum) }));

function windowsSection(trace: Trace): HTMLElement | null {
  const { windows, header } = trace;
  if (windows.length === 0 || header.requests === 0) return null;
  const timed = header.times !== "none";
  const formatPlace = (at: number) => (timed && at > 0 ? formatDuration(at) : formatThousands(at));
  const end = timed ? header.span_ns : header.requests;
  const x: Marks = [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, text: formatPlace(Math.round(at * end)) }));
  const name = keyNoun(trace);
  const keys = roundUp(Math.max(...windows.map((one) => one.keys))), requests = roundUp(Math.max(...windows.map((one) => one.requests)));
  const windowBars = (maximum: number, whole: (at: number) => number, part: (at: number) => number, title: (at: number) => string): Bar[] =>
    windows.map((_, at) => ({ whole: whole(at) / maximum, part: part(at) / maximum, title: title(at) }));
  const windowAt = (at: number) => windows[at]!;
  const formatBegin = (at: number) => `${timed ? "from " : "from request "}${formatPlace(windowAt(at).begins)}`;
  const keyBars = windowBars(keys, (at) => windowAt(at).keys, (at) => windowAt(at).new_keys, (at) => `${formatBegin(at)}: ${formatThousands(windowAt(at).keys)} ${name}, ${formatThousands(windowAt(at).new_keys)} of them new`);
  const requestBars = windowBars(requests, (at) => windowAt(at).requests, (at) => windowAt(at).writes, (at) => `${formatBegin(at)}: ${formatThousands(windowAt(at).requests)} requests, ${formatThousands(windowAt(at).writes)} of them write`);
  const formatPortion = (part: number, whole: number) => (whole > 0 ? formatShare(part / whole) : NONE);
  const tableData: TableData = {
    head: [timed ? "from" : "from request", "requests", "writes", name, "never asked for before"], words: 0,
    rows: windows.map((one) => [formatPlace(one.begins), formatThousands(one.requests), formatPortion(one.writes, one.requests), formatThousands(one.keys), formatPortion(one.new_keys, one.keys)]),
  };
  return createSection("time", "Over time",
    createFigure("working-set", `Working set: ${name} asked for`, `Distinct ${name} in each of ${windows.length} stretches as long as each other, and how many of them were never asked for before.`,
      barPlot(keyBars, [`asked for before as well`, "never asked for before"], x, quarterMarks(keys, formatSi), `Working set in ${windows.length} stretches`), tableData),
    createFigure("requests", "Requests", "In the same stretches; writes and deletes are shown apart.",
      barPlot(requestBars, ["read", "write"], x, quarterMarks(requests, formatSi), `Requests in ${windows.length} stretches`), tableData));
}

function methodSection(trace: Trace): HTMLElement {
  const exact = "All figures are exact: each request was looked at.";
  const sampled = `Figures of ${keyNoun(trace)} are of a sample, one of ${(1 / trace.sampled).toFixed(1)}, drawn by hashes (SHARDS); all others are exact.`;
  return createSection("method", "How it was found", h("p", {}, trace.sampled < 1 ? sampled : exact));
}
