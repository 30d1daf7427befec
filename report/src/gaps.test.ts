// Engines without a mark in a chart, their reasons, and the conditions of a picture.

import { describe, expect, test } from "vitest";
import { formatRoleThreads, formatTrials, explainWhiskers, notDrawnNote } from "./conditions";
import { THEMES } from "./colour";
import type { Metric } from "./data";
import { barChart } from "./figures/bars";
import { lineChart } from "./figures/lines";
import { ZERO_ON_LOG_AXIS, findGaps, formatGaps, layOutPanelsWithNotes, formatThreads, missingReason } from "./gaps";
import type { Case, Engine } from "./model";
import { findBestFit } from "./slide";

const createEngine = (name: string): Engine =>
  ({ id: `${name}/commit`, name, title: name, durability: "commit", loadGenerator: false, drive: false, order: 0, hue: 0, again: false });
const [lmdb, redb, rocksdb] = [createEngine("LMDB"), createEngine("redb"), createEngine("RocksDB")];

const createMetric = (value: number | null, more: Partial<Metric> = {}): Metric => ({
  name: "ops_per_s", unit: "1/s", direction: "higher", source: "", combine: "median", value, per_trial: [value], n: value == null ? 0 : 1,
  min: value, max: value, interval: null, missing: null, ...more,
} as Metric);

/** Creates a case with a role of readers; without a value its outcome is "does not fit". */
function createCase(own: Engine, threads: number, rate: Metric, trials = 2): Case {
  const metrics = [rate, createMetric(10e9, { name: "window_ns" })];
  const roles = [{ role: "readers", threads, metrics, ops: [], mix: "get", open_loop: false, depth: null, relative: null }];
  const trial = { case: "", trial: 1, done: rate.value != null, outcome: rate.value == null ? "does not fit" : "done", message: null, not_measured: [] };
  return { index: 0, engine: own, threads, swept: threads, load: null, run: { phase: "measure", metrics: [], roles }, group: { trials: Array(trials).fill(trial) } } as unknown as Case;
}

const readRate = (one: Case): Metric | null => one.run?.roles[0]?.metrics[0] ?? null;

describe("engines without a mark", () => {
  const lost = createMetric(null, { missing: "does not fit" });
  const cases = [createCase(lmdb, 1, createMetric(5)), createCase(lmdb, 2, lost), createCase(redb, 1, lost), createCase(redb, 2, lost), createCase(rocksdb, 1, createMetric(7))];
  const gaps = findGaps([lmdb, redb, rocksdb], cases, (one) => one.threads, readRate);

  test("are found at each place, once where the reason is the same at all", () => {
    expect(gaps).toEqual([
      { engine: lmdb, at: 2, why: "does not fit" }, { engine: redb, at: null, why: "does not fit" }, { engine: rocksdb, at: 2, why: "not measured here" },
    ]);
  });

  test("stand with the same reason in one line", () => {
    expect(formatGaps(gaps, formatThreads)).toEqual(["LMDB at 2 threads: does not fit", "redb: does not fit", "RocksDB at 2 threads: not measured here"]);
    expect(formatGaps([{ engine: lmdb, at: null, why: "x" }, { engine: redb, at: null, why: "x" }], formatThreads)).toEqual(["LMDB, redb: x"]);
    expect([formatThreads([1]), formatThreads([1, 4])]).toEqual(["1 thread", "1, 4 threads"]);
    expect([notDrawnNote({}), notDrawnNote({ notDrawn: ["LMDB: does not fit"] })]).toEqual(["", "Not drawn: LMDB: does not fit."]);
  });

  test("have the figure's reason, else how a trial ended", () => {
    expect(missingReason(cases[0], createMetric(null, { missing: "p99 needs 1,000 samples" }))).toBe("p99 needs 1,000 samples");
    expect([missingReason(cases[1], null), missingReason(cases[0], null, "too few"), missingReason(undefined, null)]).toEqual(["does not fit", "too few", "not measured here"]);
  });

  test("are named in the place of their bar", () => {
    const bars = [{ engine: rocksdb, parts: [{ name: "ops/s", value: 7 }], range: null, combine: "median" as const }];
    const { option } = barChart([{ title: "t", format: String, bars, engines: [lmdb, rocksdb], gaps: [{ engine: lmdb, at: null, why: "p99 needs 1,000 samples" }] }], 700, THEMES.light);
    const [series] = option["series"] as { data: object[]; label: { formatter: (item: object) => string } }[];
    const words = series?.data.map((data, dataIndex) => series.label.formatter({ data, dataIndex }));
    expect(words).toEqual(["– p99 needs 1,000 samples", "7"]);
  });

  test("are named below lines, a zero on a logarithmic axis too", () => {
    const createPoint = (y: number) => ({ x: 1, y, range: null, detail: "" });
    const axes = { x: { name: "threads", type: "category", format: String, values: [1] }, y: { name: "", type: "log", format: String } } as const;
    const list = [{ title: "t", lines: [{ engine: lmdb, points: [createPoint(0)] }, { engine: redb, points: [createPoint(4)] }], gaps: [] }];
    const { option, height } = lineChart(list, { ...axes, x: { ...axes.x, values: [1] } }, 700, THEMES.light);
    const words = (option["title"] as { text: string }[]).map(({ text }) => text);
    expect(words).toEqual(["t", `LMDB at 1 thread: ${ZERO_ON_LOG_AXIS}`]);
    const linear = lineChart(list, { x: { ...axes.x, values: [1] }, y: { ...axes.y, type: "value" } }, 700, THEMES.light);
    expect((linear.option["title"] as object[]).length).toBe(1);
    expect(height).toBe(linear.height + 14);
  });

  test("have room for their words, which are wrapped and not cut", () => {
    const space = { height: 100, least: 100, left: 50, right: 50, bottom: 40, top: 30, most: 2 };
    const { titles, height, panels } = layOutPanelsWithNotes([["word ".repeat(30).trim()], []], 400, space, THEMES.light);
    const texts = titles.map((title) => (title as { text: string }).text);
    expect(texts.join(" ")).toBe("word ".repeat(30).trim());
    expect([panels.length, height]).toEqual([2, 170 + texts.length * 14]);
  });
});

describe("a picture's conditions", () => {
  const spread = createMetric(5, { n: 2, min: 4, max: 6 }), judged = createMetric(5, { n: 6, interval: { low: 4, high: 6, confidence: 0.96 } });

  test("say threads, of each role where they differ", () => {
    expect(formatRoleThreads([createCase(lmdb, 1, spread)])).toBe("1 thread");
    const mixed = [createCase(lmdb, 4, spread), createCase(lmdb, 2, spread)];
    expect(formatRoleThreads(mixed)).toBe("2, 4 threads");
    mixed[0]!.run!.roles.push({ ...mixed[0]!.run!.roles[0]!, role: "writer", threads: 1 });
    expect(formatRoleThreads(mixed)).toBe("readers: 2, 4 threads; writer: 1 thread");
  });

  test("say trials and how long each was", () => {
    expect([formatTrials([createCase(lmdb, 1, spread)]), formatTrials([createCase(lmdb, 1, spread, 1), createCase(redb, 1, spread, 3)])])
      .toEqual(["2 trials of 10.0 s", "1 to 3 trials of 10.0 s"]);
  });

  test("say what a whisker is", () => {
    const explainMetrics = (...metrics: Metric[]) => explainWhiskers(metrics.map((one) => createCase(lmdb, 1, one)));
    expect(explainMetrics(createMetric(5))).toBe("no whiskers: values of one trial");
    expect(explainMetrics(spread)).toBe("whiskers: lowest to highest trial");
    expect(explainMetrics(judged)).toBe("whiskers: 95 % interval of the median");
    expect(explainMetrics(judged, spread)).toBe("whiskers: 95 % interval of the median, below six trials lowest to highest trial");
  });
});

test("a figure alone has the width that leaves least of the window empty", () => {
  const window = { width: 1600, height: 900 };
  expect(findBestFit([{ width: 600, height: 600 }, { width: 900, height: 500 }, { width: 1600, height: 400 }], window)).toBe(1);
});
