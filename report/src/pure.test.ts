// Tests that need no browser.

import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { barChart, binaryStep, tooltipLines } from "./figures/bars";
import { limitLabel } from "./figures/efficiency";
import { summarizeColumns, roundStep } from "./figures/heat";
import { formatStep } from "./figures/history";
import { metricPoint } from "./figures/lines";
import { threadsText, type Case, type Engine } from "./model";
import { partLabel, PARTS, readableColour } from "./figures/time";
import { mergeSpans, totalCells } from "./figures/timeline";
import { paretoFront } from "./figures/tradeoff";
import { toggleKey } from "./filters";
import { formatBytes, formatDuration, formatThousands, formatValue, NONE, formatOwnThreads, formatPercentile, formatRatio, formatSi } from "./format";
import { hiccupNote } from "./hiccups";
import { placeTexts, spreadPositions } from "./labels";
import { THEMES } from "./colour";
import { splitByEngine, layOutPanels, roundUp, axisStep } from "./layout";
import { unpack } from "./load";
import { formatLosses } from "./lost";
import type { Claim, Combine, Efficiency, Finding, Limit, Metric } from "./data";
import { searchMarks, phaseSearch, type Search } from "./search";
import { wrapText } from "./save";
import { claimReasons, formatClaims, summarizeFindings, formatData, formatHost, undecidedFigures, quoteWord, formatVerdicts } from "./sections";
import { runState } from "./state";
import { parseChoice, formatChoice } from "./view";

test("a role stands with its own threads, the single writer beside four readers too", () => {
  expect([formatOwnThreads(4, 4), formatOwnThreads(1, 4), formatOwnThreads(2, null), formatOwnThreads(undefined, 4)]).toEqual(["4", "1 @4", "2", "4"]);
});

test("a phase stands with the swept number, or with the threads of its own roles", () => {
  const roles = [{ threads: 1 }, { threads: 2 }];
  const one = (swept: number | null) => ({ swept, threads: 8, run: { roles } }) as unknown as Case;
  expect([threadsText(one(4)), threadsText(one(null))]).toEqual(["4", "3"]);
});

describe("a search", () => {
  const condition = (about: string, unit: "rate" | "time") => ({ about, unit, bound: 5, roles: ["readers"] });
  const search: Search = {
    engine: "lmdb", target: "", axis: "ram", phase: "reads", user_bytes: 800, between: { low: 10, high: 800 }, sentences: [],
    conditions: [condition("reads", "rate"), condition("get.p99.9", "time")],
    result: { is: "between", met: 400, missed: 200, surely_missed: null },
  };

  test("marks the phase that was held against the target, and no other", () => {
    expect([phaseSearch(search, "reads"), phaseSearch(search, "fill"), phaseSearch(null, "reads")]).toEqual([search, null, null]);
  });

  test("marks what a panel draws: keys are no operations where one has several", () => {
    const bound = (percentile: string | null, ops: string[]) => searchMarks(search, "readers", percentile, ops).bound?.y ?? null;
    expect([bound(null, ["get"]), bound(null, ["multiget"]), bound(null, ["get", "scan"])]).toEqual([5, null, null]);
    expect([bound("p99.9", ["get"]), bound("p99", ["get"]), bound("p99.9", ["get", "scan"])]).toEqual([5, null, null]);
  });

  test("has its edge as far as some trial met it", () => {
    expect(searchMarks(search, "readers", null, []).edge).toEqual([2, 80]);
    const decidedSearch: Search = { ...search, result: { is: "between", met: 400, missed: 200, surely_missed: 100 } };
    expect(searchMarks(decidedSearch, "readers", null, []).edge).toEqual([2, 8]);
  });
});

describe("a step from a version to the next", () => {
  const step = (ratio: number | null, verdict: string) => ({ ratio, ratio_low: null, ratio_high: null, verdict, reason: null });

  test("is marked where it changed the figure, and nowhere else", () => {
    expect([step(1.08, "improved"), step(0.5, "regressed"), step(1.2, "changed")].map(formatStep)).toEqual(["+8%", "-50%", "+20%"]);
    expect([step(1.08, "undecided"), step(2, "too_few"), step(null, "not_comparable"), null, undefined].map(formatStep)).toEqual([undefined, undefined, undefined, undefined, undefined]);
  });
});

describe("many engines", () => {
  const engine = (name: string, loadGenerator = false): Engine =>
    ({ id: name, name, title: name, durability: "async", loadGenerator, drive: false, order: 0, hue: 0, again: false });

  test("have a small chart each, with what is no engine in all of them", () => {
    const lines = (count: number) => Array.from({ length: count }, (_, at) => ({ engine: engine(`e${at}`) }));
    const few = splitByEngine([{ title: "readers", lines: lines(6) }]);
    expect([few.small, few.each.length]).toEqual([false, 1]);
    const many = splitByEngine([{ title: "readers", lines: [...lines(7), { engine: engine("floor", true) }] }, { title: "writer", lines: lines(2) }]);
    expect(many.small).toBe(true);
    expect(many.each.map(({ panel }) => panel.title)).toEqual([...lines(7).map((line) => `${line.engine.name}: readers`), "e0: writer", "e1: writer"]);
    expect(many.each[0]?.panel.lines.map((line) => line.engine.name)).toEqual(["e0", "floor"]);
    expect(many.each[0]?.whole.lines.length).toBe(8);
  });

  test("end their axes at a round number", () => {
    expect([1, 1.01, 13.2e3, 99, 0.021, 0].map(roundUp)).toEqual([1, 1.5, 15e3, 100, 0.03, 1]);
  });

  test("have even marks up to that end", () => {
    expect([1, 15e3, 0.03, 40, 5, 60].map(axisStep)).toEqual([0.5, 5e3, 0.01, 20, 2.5, 20].map((step) => expect.closeTo(step, 9)));
  });

  test("lose what was found, or less than could have been seen", () => {
    expect(formatLosses({ states: 300, lost: 0, corrupt: 0 })).toBe("lost 0 of 300 (< 1 %)");
    expect(formatLosses({ states: 300, lost: 12, corrupt: 0 })).toBe("lost 12 of 300 (4 %)");
    expect(formatLosses({ states: 300, lost: 0, corrupt: 5 })).toBe("lost 0 of 300, corrupt 5");
  });
});

describe("numbers", () => {
  test("as the terminal writes them", () => {
    expect([950, 999_600, 80e6, 12_345].map(formatSi)).toEqual(["950", "1.00 M", "80.0 M", "12.3 k"]);
    expect([512, 1.5 * 2 ** 30].map(formatBytes)).toEqual(["512 B", "1.50 GiB"]);
    expect([850, 12_300, 4.56e6, 100e9, 8e12].map(formatDuration)).toEqual(["850 ns", "12.3 µs", "4.56 ms", "1m40s", "2h13m"]);
    expect(formatThousands(1234567)).toBe("1,234,567");
    expect([0, 0.036, 1, 2.345, 13.02, 1107].map(formatRatio)).toEqual(["0", "0.036", "1.00", "2.35", "13.02", "1.11 k"]);
  });

  test("missing is not zero", () => {
    expect(formatValue(null, "ns")).toBe(NONE);
    expect(formatValue(0, "ns")).toBe("0 ns");
  });

  test("nines", () => {
    expect([0.301, 1, 2, 3, 4, 5].map(formatPercentile)).toEqual(["p50", "p90", "p99", "p99.9", "p99.99", "p99.999"]);
  });
});

test("scheduling jitter of the idle machine is said where the run listened", () => {
  expect(hiccupNote(null)).toBe("");
  const hiccups = { length_ns: 2e9, n: 80e6, p999_ns: 24, p9999_ns: null, max_ns: 13.4e6, long: 1000, long_share: 0.0157 };
  expect(hiccupNote(hiccups)).toBe("Scheduling jitter of this machine, idle for 2.00 s: p99.9 24 ns, max 13.4 ms; 1,000 of 10 µs or more, 1.57 % of the time. Tails below its maximum may be its own.");
  expect(hiccupNote({ ...hiccups, long: 0 })).toContain("none of 10 µs or more. Tails");
});

describe("the address", () => {
  test("holds what is chosen, whatever it is called", () => {
    const choice = {
      engines: ["LMDB (commit)", "a&b=c#d"], questions: ["reads", "tail"], parts: ["4x"], works: ["load, RAM 1 GiB"], threads: [1, 64],
      theme: "dark" as const, figure: "rate", inside: { "percentiles.threads": "4" },
    };
    expect(parseChoice(formatChoice(choice))).toEqual(choice);
  });

  test("is empty where nothing is chosen, and nonsense is nothing", () => {
    const nothing = { engines: [], questions: [], parts: [], works: [], threads: [], theme: null, figure: null, inside: {} };
    expect(formatChoice(nothing)).toBe("");
    expect(parseChoice("#threads=x&theme=pink&other=1")).toEqual(nothing);
  });

  test("a click takes one away, and all again when none is left", () => {
    expect(toggleKey(["a", "b", "c"], [], "b")).toEqual(["a", "c"]);
    expect(toggleKey(["a", "b", "c"], ["a", "c"], "b")).toEqual([]);
    expect(toggleKey(["a", "b"], ["a"], "a")).toEqual([]);
  });
});

test("what is decided is said in the program's own words", () => {
  const open = { label: "RocksDB", base: "LMDB", scope: "readers, 4 threads", more_pairs: 6, reason: null };
  expect([0, 1, 3].map((figures) => formatVerdicts({ figures, undecided: [] }))).toEqual(["", "1 figure decided", "all 3 figures decided"]);
  expect(formatVerdicts({ figures: 9, undecided: [open] })).toBe("8 of 9 figures decided");
  // Figures of several RAM sizes have the same text, which appears once.
  const other = { ...open, scope: "load", more_pairs: 1 };
  expect(undecidedFigures({ figures: 9, undecided: [open, other, open] })).toEqual(["RocksDB readers, 4 threads (about 6 more pairs; 2 figures)", "RocksDB load (about 1 more pair)"]);
  // No number of pairs would decide.
  const voided = { ...open, more_pairs: null, reason: "void: debug-build" };
  expect(undecidedFigures({ figures: 9, undecided: [voided] })).toEqual(["RocksDB readers, 4 threads (void: debug-build)"]);
});

test("the machine is called as on the terminal", () => {
  const machine = { cpu_model: "Intel(R) Xeon(R) Processor", cpus: 2, memory_bytes: 23.5 * 2 ** 30, virtual_machine: true };
  expect(formatHost({ machine, filesystem: { kind: "ext4" }, drive: { name: "vda" } })).toBe("2 x Intel Xeon, 23.5 GiB, ext4 on vda (virtual)");
  expect(formatHost({ machine: { ...machine, virtual_machine: null }, filesystem: null, drive: null })).toBe("2 x Intel Xeon, 23.5 GiB");
});

test("of several sizes of RAM the data is said once", () => {
  const size = "1.00 M x 16+100 bytes a record = 111 MiB", [small, large] = ["RAM limit 28.0 MiB: data is 3.95 x the limit", "no RAM limit: data is 0.002 x this machine's 64.0 GiB"];
  const header: [string, string][] = [["run", "x"], ["data", `${size}, ${small}`], ["data", `${size}, ${large}`], ["data", `${size}, ${small}`]];
  expect(formatData({ header })).toEqual([`${size}, ${small}; ${large}`]);
  expect(formatData({ header: header.slice(0, 2) })).toEqual([`${size}, ${small}`]);
  expect(formatData({ header: [["data", "nothing of that kind"]] })).toEqual(["nothing of that kind"]);
});

test("what limits an engine, in a word or two", () => {
  const standing = (limit: Limit | null, cached: boolean): Efficiency => ({
    in_flight: 1, ceiling: null, drive: null, why_no_share: null, reads_alone: false, ios_per_op: 1,
    cached, limit, why_no_limit: null,
  });
  const words = (["drive_full", "cpu_user", "lock", "turns", "schedule"] as const).map((limit) => limitLabel(standing(limit, false)));
  expect(words).toEqual(["drive full", "CPU user", "lock", "mixed", "schedule"]);
  expect([limitLabel(standing("cpu_user", true)), limitLabel(standing(null, false))]).toEqual(["CPU user, cached", ""]);
});

describe("drawing", () => {
  test("names at the ends of lines are moved apart", () => {
    const moved = (at: number[], bounds?: [number, number]) => spreadPositions(at, 10, bounds).map((offset, index) => offset + at[index]!);
    expect(moved([0, 50])).toEqual([0, 50]);
    expect(moved([10, 10])).toEqual([5, 15]);
    expect(moved([10, 12, 25])).toEqual([5.666666666666666, 15.666666666666666, 25.666666666666664].map((v) => expect.closeTo(v, 6)));
    expect(moved([0, 1], [0, 100])).toEqual([0, 10]);
  });

  test("the front joins what nothing else beats in both", () => {
    const points = [{ x: 1, y: 1 }, { x: 2, y: 3 }, { x: 3, y: 2 }, { x: 4, y: 9 }, { x: 4, y: 8 }];
    expect(paretoFront(points)).toEqual([{ x: 1, y: 1 }, { x: 3, y: 2 }, { x: 4, y: 8 }]);
    expect(paretoFront([])).toEqual([]);
  });

  test("stalls that touch are one", () => {
    expect(mergeSpans([[5, 6], [0, 1], [1.05, 2], [0.5, 0.6]], 0.1)).toEqual([[0, 2], [5, 6]]);
  });

  test("what engines did is summed over all of it, drawn or not", () => {
    expect(totalCells({ kind: "compaction", count: 500, sum_s: 1200, longest_s: 8 }))
      .toEqual(["compaction, seconds", NONE, "1.20 k in all", "8", "500"]);
    expect(totalCells({ kind: "flush", count: 1, sum_s: null, longest_s: null }))
      .toEqual(["flush, seconds", NONE, NONE, NONE, "1"]);
  });

  test("marks on an axis of time are round, and few", () => {
    expect([0.6, 3, 30, 100, 600, 7200].map((end) => roundStep(end, 6))).toEqual([0.1, 0.5, 5, 20, 120, 1200].map((value) => expect.closeTo(value, 9)));
    expect(roundStep(300, 6)).toBe(60);
  });

  test("words beside marks lie on no mark and on no other words", () => {
    const bounds = { left: 0, top: 0, width: 300, height: 300 };
    const spots = [
      { x: 100, y: 100, text: "1", name: false }, { x: 112, y: 100, text: "2", name: false }, { x: 124, y: 100, text: "RocksDB 4", name: true },
      { x: 290, y: 5, text: "LMDB 4", name: true },
    ];
    const places = placeTexts(spots, bounds);
    const boxes = places.map((place, at) => ({ left: place?.[0] ?? 0, right: (place?.[0] ?? 0) + spots[at]!.text.length * 6.7, top: place?.[1] ?? 0 }));
    expect(places.every((place) => place !== null)).toBe(true);
    for (const [at, box] of boxes.entries()) {
      expect(box.left).toBeGreaterThanOrEqual(0);
      expect(box.right).toBeLessThanOrEqual(300);
      for (const spot of spots) {
        const isClear = box.right <= spot.x - 6.5 || box.left >= spot.x + 6.5 || box.top + 14 <= spot.y - 6.5 || box.top >= spot.y + 6.5;
        expect(isClear, `${spots[at]!.text} on the mark at ${spot.x}`).toBe(true);
      }
      for (const other of boxes.slice(at + 1)) {
        expect(box.right <= other.left || other.right <= box.left || box.top + 14 <= other.top || other.top + 14 <= box.top).toBe(true);
      }
    }
    // A name is a line further away, rather than on a mark.
    const row = (y: number) => Array.from({ length: 9 }, (_, at) => ({ x: 60 + at * 20, y, text: "", name: false }));
    const [, top = 150] = placeTexts([{ x: 140, y: 150, text: "RocksDB 4", name: true }, ...row(150), ...row(134), ...row(166)], bounds)[0] ?? [];
    expect(top + 14 <= 127.5 || top >= 172.5).toBe(true);
    // A number without room is dropped.
    expect(placeTexts([{ x: 5, y: 5, text: "1", name: false }], { left: 0, top: 0, width: 10, height: 10 })).toEqual([null]);
  });

  test("a map's columns in numbers", () => {
    const heat = { tails: [], group: 0, trial: 1, phase: "", role: "", kind: "service" as const, column_s: 1, columns: 2, rows_per_decade: 8,
      cells: [[0, 3, 90], [0, 9, 10]] as [number, number, number][] };
    expect(summarizeColumns(heat)).toEqual([
      { at: 0, count: 100, low: 3, middle: 3, high: 9 }, { at: 1, count: 0, low: null, middle: null, high: null },
    ]);
  });

  test("panels go below each other where it is narrow", () => {
    const space = { height: 100, least: 200, left: 50, right: 50, top: 10, bottom: 10 };
    expect(layOutPanels(2, 700, space).panels.map((panel) => panel.top)).toEqual([10, 10]);
    const narrow = layOutPanels(2, 400, space);
    expect(narrow.panels.map((panel) => [panel.left, panel.top])).toEqual([[50, 10], [50, 130]]);
    expect(narrow.height).toBe(240);
  });

  test("a bar is called what it is over its trials", () => {
    const engine: Engine = { id: "a", name: "a", title: "a", durability: "", loadGenerator: false, drive: false, order: 0, hue: 0, again: false };
    const label = (combine: Combine) =>
      tooltipLines({ engine, parts: [{ name: "", value: 2 }], range: [1, 3], combine }, formatSi, "")[0]?.[0];
    expect(["median", "maximum", "sum", "merged_histograms"].map((one) => label(one as Combine)))
      .toEqual(["median", "maximum", "sum", "all trials merged"]);
    const lines = tooltipLines({ engine, parts: [{ name: "", value: 2 }], range: null, combine: "merged_histograms" }, formatSi, "");
    expect(lines).toEqual([["all trials merged", "2", ""]]);
    const metric: Metric = { name: "", unit: "", direction: "lower", source: "", combine: "merged_histograms", value: 2, per_trial: [null, null], n: 0, min: null, max: null, interval: null, missing: null };
    expect([metric, { ...metric, combine: "median", n: 1 } as const].map((one) => metricPoint(1, one, 2).detail)).toEqual(["all trials merged", "1 trial"]);
  });

  test("an axis of bytes reaches as far as its whiskers", () => {
    const engine: Engine = { id: "a", name: "a", title: "a", durability: "", loadGenerator: false, drive: false, order: 0, hue: 0, again: false };
    const bars = [{ engine, parts: [{ name: "", value: 300 }], range: [10, 5000] as [number, number], combine: "median" as Combine }];
    const { option } = barChart([{ title: "bytes", bars, format: formatBytes, binary: true }], 600, THEMES.light);
    expect((option["xAxis"] as { max: number }[])[0]?.max).toBeGreaterThanOrEqual(5000);
  });

  test("bytes have marks at powers of two", () => {
    expect(binaryStep(5.5 * 1024)).toBe(2048);
    expect(binaryStep(0)).toBe(1);
  });
});

test("warnings are folded to a line that says what they are about", () => {
  const finding = (id: string): Finding => ({ id, severity: "warning", evidence: "", advice: "", cases: [] });
  const list = ["cpu-stolen", "busy-host", "swap-on", "foreign-io", "not-steady", "writers-unequal", "ram-limit-not-held"].map(finding);
  expect(summarizeFindings(list, "warning")).toBe("7 warnings: 3 machine, 2 workload, 1 CPU, 1 method");
  expect([summarizeFindings(list.slice(0, 1), "warning"), summarizeFindings([], "warning")]).toEqual(["1 warning: 1 CPU", "No warnings"]);
});

test("a run with cases undone never says complete", () => {
  const run = (state: "complete" | "running", cases_done: number) => runState({ state, cases_planned: 48, cases_done });
  expect([run("complete", 48), run("complete", 32), run("running", 3)]).toEqual([["complete", "complete"], ["ended: 16 not done", "partial"], ["running", "running"]]);
});

test("a command line can be copied into a shell", () => {
  expect(["kvdyno", "run", "a b", "it's", "--set=x=1"].map(quoteWord).join(" ")).toBe(`kvdyno run 'a b' 'it'\\''s' --set=x=1`);
});

test("data comes back out of the page", async () => {
  const text = JSON.stringify({ name: "</script>µ" });
  expect(await unpack(`\n${gzipSync(text).toString("base64")}\n`)).toBe(text);
});

describe("where the time went", () => {
  test("parts add up, and say what fits into them", () => {
    const percent = (name: string): number => ({ user: 10, system: 5, runqueue: 5, device: 60, device_read: 10, device_write: 20, device_sync: 25, lock: 20 })[name] ?? 0;
    expect(PARTS.map((part) => part.read(percent)).reduce((sum, value) => sum + value, 0)).toBe(100);
    expect([partLabel("wait CPU", 12.4, 90), partLabel("wait CPU", 12.4, 30), partLabel("wait CPU", 12.4, 10)]).toEqual(["wait CPU 12", "12", ""]);
    expect([readableColour("#0069a8"), readableColour("#e8b84a"), readableColour("#000000")]).toEqual(["#ffffff", "#000000", "#ffffff"]);
  });
});

test("claims come to a line, and what is undecided says why, the most frequent reason first", () => {
  const claim = (verdict: Claim["verdict"], reason: string | null = null): Claim => ({ verdict, reason });
  const claims = [claim("undecided", "one trial"), claim("undecided", "2 CPUs"), claim("undecided", "2 CPUs"), claim("does_not_hold"), claim("does_not_hold")];
  expect(formatClaims(claims)).toBe("0 of 5 claims hold, 2 do not, 3 are undecided.");
  expect(claimReasons(claims)).toBe("Undecided: 2 CPUs (2 claims); one trial.");
  expect([formatClaims([claim("holds")]), claimReasons([claim("holds")])]).toEqual(["1 of 1 claim holds, 0 do not.", ""]);
});

test("a picture's words are cut where its lines end, and not lost", () => {
  expect(wrapText("one two three", 7)).toEqual(["one two", "three"]);
  expect(wrapText("abcdefghij kl", 4)).toEqual(["abcd", "efgh", "ij", "kl"]);
});
