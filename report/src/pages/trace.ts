// The page of a trace: what was asked for, how long keys and values are, which keys are popular, what a cache would have,
// and how many are asked for at a time.

import { appearance, type Shade } from "../appearance";
import { h } from "../dom";
import { bytes, duration, grouped, NONE, si } from "../format";
import { roundUp } from "../layout";
import { barPlot, linePlot, logarithmic, powers, rangePlot, type Bar, type Marks } from "../plot";
import { download } from "../save";
import { section } from "../sections";
import { table, type TableData } from "../table";
import { blocks, sentence, share, things, type Trace, type TraceData, type TraceQuantiles } from "../traces";

export function trace(root: HTMLElement, data: TraceData, json: string): void {
  const { trace } = data;
  const title = `${trace.header.file}: ${si(trace.header.requests)} requests`;
  document.title = `${title}: kvdyno`;
  const shade = (): Shade | null => {
    const theme = new URLSearchParams(location.hash.slice(1)).get("theme");
    return theme === "light" || theme === "dark" ? theme : null;
  };
  const button = appearance(shade, (theme) => history.replaceState(null, "", `#theme=${theme}`));
  const raw = h("button", { type: "button", class: "raw", click: () => download(new Blob([json], { type: "application/json" }), "trace.json") },
    `The statistics as JSON (${Math.ceil(json.length / 1024)} KiB)`);
  const facts = h("dl", { class: "facts" }, ...data.remarks.flatMap(([word, text]) => [h("dt", {}, word), h("dd", {}, text)]));
  root.replaceChildren(...[
    h("header", { class: "head row" }, h("div", {}, h("p", { class: "kicker" }, "kvdyno · trace"), h("h1", {}, title)), button),
    h("div", { class: "result" }, h("p", { class: "sentence" }, sentence(trace))),
    facts, mix(trace), sizes(trace), popular(trace), overTime(trace), method(trace), section("raw", "Raw data", raw),
  ].filter((one) => one !== null));
}

/** A figure with the numbers behind it. */
const figure = (name: string, heading: string, note: string, drawn: HTMLElement, behind: TableData): HTMLElement =>
  h("figure", { class: "figure", "data-figure": name, "data-drawn": "page" },
    h("figcaption", {}, h("h3", {}, heading), h("p", { class: "note" }, note)), drawn,
    h("details", {}, h("summary", {}, "Table"), table(behind, heading)));

function mix(trace: Trace): HTMLElement | null {
  const ops = Object.entries(trace.header.ops).sort(([, a], [, b]) => b - a);
  if (ops.length === 0) return null;
  const rows = ops.map(([op, count]) => {
    const part = trace.mix[op] ?? 0;
    return h("tr", {}, h("th", { scope: "row" }, op.replaceAll("_", " ")), h("td", { class: "number" }, grouped(count)), h("td", { class: "number" }, share(part)),
      h("td", { class: "wide" }, h("span", { class: "part", style: `width:${(part * 100).toFixed(2)}%` })));
  });
  return section("mix", "What was asked for", h("table", { class: "parts" }, h("caption", { class: "hidden" }, "Requests by operation"),
    h("thead", {}, h("tr", {}, ...["operation", "requests", "share", ""].map((text, at) => h("th", { scope: "col", class: at === 1 || at === 2 ? "number" : "" }, text)))),
    h("tbody", {}, ...rows)));
}

const QUANTILES = ["min", "p50", "p90", "p99", "max"] as const;

function sizes(trace: Trace): HTMLElement | null {
  const written = blocks(trace) ? "writes" : "values written", read = blocks(trace) ? "reads" : "values read";
  const all: [string, TraceQuantiles | null][] = [["keys", trace.key_bytes], [written, trace.written_bytes], [read, trace.read_bytes]];
  const known = all.flatMap(([name, one]) => (one ? [{ name, one }] : []));
  if (known.length === 0) return null;
  const low = Math.min(...known.map(({ one }) => Math.max(1, one.min))), high = Math.max(...known.map(({ one }) => one.max), low * 10);
  const head = h("tr", {}, h("th", { scope: "col" }, "bytes of"), h("th", { scope: "col", class: "plot" }, ""),
    ...[...QUANTILES, "mean", "requests"].map((text) => h("th", { scope: "col", class: "number" }, text)));
  const rows = known.map(({ name, one }) => {
    const values = QUANTILES.map((at) => one[at]);
    return h("tr", {}, h("th", { scope: "row" }, name),
      h("td", { class: "plot" }, rangePlot(values, low, high, QUANTILES.map((at) => `${at} ${bytes(one[at])}`).join(", "))),
      ...values.map((value, at) => h("td", { class: "number", "data-name": QUANTILES[at] ?? "" }, bytes(value))),
      h("td", { class: "number", "data-name": "mean" }, bytes(one.mean)), h("td", { class: "number", "data-name": "requests" }, grouped(one.count)));
  });
  return section("sizes", "Sizes",
    h("p", { class: "note" }, "From the shortest to the longest on an axis of powers of ten; the large dot is the median, the small ones p90 and p99."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Sizes by quantile" },
      h("table", { class: "pairs courses sizes" }, h("caption", { class: "hidden" }, "Sizes by quantile"), h("thead", {}, head), h("tbody", {}, ...rows))));
}

function popular(trace: Trace): HTMLElement | null {
  const points = trace.popular;
  // Below one key there is nothing to be seen.
  const shown = points.filter((one) => one.keys * trace.distinct >= 1);
  const [first] = shown;
  if (!first || shown.length < 2 || trace.header.requests === 0) return null;
  const name = things(trace);
  const line = (value: (one: (typeof points)[number]) => number) => shown.map((one): [number, number] => [logarithmic(one.keys, first.keys, 1), value(one)]);
  const lines = [
    { name: `go to the most popular ${name}`, points: line((one) => one.requests) },
    { name: "an LRU cache of as many has", points: line((one) => one.lru_hits) },
  ];
  return section("popular", "Popularity and reuse", figure("popular", `Share of requests by share of the ${name}`,
    `An LRU cache never has a first request. Where its line is far below the other, the popular ${name} change, or their requests lie far apart.`,
    linePlot(lines, powers(first.keys, 1, (value) => `${Number((value * 100).toPrecision(2))} %`), halves(1, share), `Requests by share of ${name}`),
    { head: [`of the ${name}`, name, ...lines.map((one) => one.name)], words: 0,
      rows: shown.map((one) => [share(one.keys), grouped(one.keys * trace.distinct), share(one.requests), share(one.lru_hits)]) }));
}

/** An axis from zero, in quarters. */
const halves = (most: number, text: (value: number) => string): Marks => [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, text: text(at * most) }));

function overTime(trace: Trace): HTMLElement | null {
  const { windows, header } = trace;
  if (windows.length === 0 || header.requests === 0) return null;
  const timed = header.times !== "none";
  const place = (at: number) => (timed && at > 0 ? duration(at) : grouped(at));
  const end = timed ? header.span_ns : header.requests;
  const x: Marks = [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, text: place(Math.round(at * end)) }));
  const name = things(trace);
  const keys = roundUp(Math.max(...windows.map((one) => one.keys))), requests = roundUp(Math.max(...windows.map((one) => one.requests)));
  const bars = (most: number, whole: (at: number) => number, part: (at: number) => number, title: (at: number) => string): Bar[] =>
    windows.map((_, at) => ({ whole: whole(at) / most, part: part(at) / most, title: title(at) }));
  const of = (at: number) => windows[at]!;
  const began = (at: number) => `${timed ? "from " : "from request "}${place(of(at).begins)}`;
  const sets = bars(keys, (at) => of(at).keys, (at) => of(at).new_keys, (at) => `${began(at)}: ${grouped(of(at).keys)} ${name}, ${grouped(of(at).new_keys)} of them new`);
  const asked = bars(requests, (at) => of(at).requests, (at) => of(at).writes, (at) => `${began(at)}: ${grouped(of(at).requests)} requests, ${grouped(of(at).writes)} of them write`);
  const portion = (part: number, whole: number) => (whole > 0 ? share(part / whole) : NONE);
  const behind: TableData = {
    head: [timed ? "from" : "from request", "requests", "writes", name, "never asked for before"], words: 0,
    rows: windows.map((one) => [place(one.begins), grouped(one.requests), portion(one.writes, one.requests), grouped(one.keys), portion(one.new_keys, one.keys)]),
  };
  return section("time", "Over time",
    figure("working-set", `Working set: ${name} asked for`, `Distinct ${name} in each of ${windows.length} stretches as long as each other, and how many of them were never asked for before.`,
      barPlot(sets, [`asked for before as well`, "never asked for before"], x, halves(keys, si), `Working set in ${windows.length} stretches`), behind),
    figure("requests", "Requests", "In the same stretches; writes and deletes are shown apart.",
      barPlot(asked, ["read", "write"], x, halves(requests, si), `Requests in ${windows.length} stretches`), behind));
}

function method(trace: Trace): HTMLElement {
  const exact = "All figures are exact: each request was looked at.";
  const sampled = `Figures of ${things(trace)} are of a sample, one of ${(1 / trace.sampled).toFixed(1)}, drawn by hashes (SHARDS); all others are exact.`;
  return section("method", "How it was found", h("p", {}, trace.sampled < 1 ? sampled : exact));
}
