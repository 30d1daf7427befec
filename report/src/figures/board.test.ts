// The cells of the scoreboard, and the ratios of tables.

import { describe, expect, test } from "vitest";
import type { Group, Metric, Relative, Trial } from "../data";
import { NONE } from "../format";
import type { Engine } from "../model";
import { barLength, boardRows, describeFactor, formatRelative, judgedRatio, type Row } from "./board";

const createNumbers = (numbers: number[]) => numbers.map((trial) => ({ trial }) as Trial);

/** Creates the groups of two engines with four trials; `more` changes the second. */
function createGroups(more: Partial<Group> = {}): Row["groups"] {
  const one = { engine: "a", trials: createNumbers([1, 2, 3, 4]), within: 0.03, void: null as string | null };
  return new Map([["a", one], ["b", { ...one, engine: "b", ...more }]]);
}

describe("the scoreboard", () => {
  const metric = (value: number, low: number, high: number, n = 4): Metric => ({
    name: "", unit: "1/s", direction: "higher", source: "", combine: "median", value,
    per_trial: [low, value, value, high].slice(0, n), n, min: low, max: high, interval: null, missing: null,
  });
  const engine = (id: string): Engine => ({ id, name: id, title: id, durability: "async", loadGenerator: false, drive: false, order: 0, hue: 0, again: false });

  test("better goes to the right, by factors", () => {
    expect(barLength(2, 1, "higher", 2)).toBe(0.5);
    expect(barLength(2, 1, "lower", 2)).toBe(-0.5);
    expect(barLength(0.5, 1, "lower", 2)).toBe(0.5);
    expect(barLength(100, 1, "higher", 2)).toBe(1);
    expect(barLength(0, 1, "higher", 2)).toBe(0);
  });

  test("says which way a figure goes by a factor that is never below one", () => {
    expect(describeFactor(0.027, 1, "ns")).toBe("37x lower");
    expect(describeFactor(1, 0.027, "ns")).toBe("37x higher");
    expect(describeFactor(2300, 1000, "1/s")).toBe("2.3x more");
    expect(describeFactor(1000, 20_000, "1/s")).toBe("20x fewer");
    expect(describeFactor(1000, 1370, "B")).toBe("1.37x less");
    expect(describeFactor(1001, 1000, "B/B")).toBe("1.00x higher");
    expect(describeFactor(3e6, 1, "1/s")).toBe("3.00 Mx more");
  });

  test("says better and worse, whichever way a figure goes, and ranks nothing that is not comparable", () => {
    const engines = [engine("a"), engine("b")];
    const row = (direction: Metric["direction"], own: Metric, incomparable: string | null = null) =>
      boardRows(engines, [{ name: "", metrics: new Map([["a", { ...metric(10, 9, 11), direction }], ["b", { ...own, direction }]]), groups: createGroups(), incomparable }], engines[0]!)[0]?.cells[1];
    expect(row("lower", metric(5, 4, 6))).toMatchObject({ worth: "better", words: "2.0x fewer" });
    expect(row("higher", metric(5, 4, 6))).toMatchObject({ worth: "worse", words: "2.0x fewer" });
    expect(row("higher", metric(12, 8, 16))).toMatchObject({ worth: "same", words: "~1.17x more" });
    expect(row("higher", metric(5, 4, 6, 3))).toMatchObject({ worth: "unsure", words: "2.1x fewer?" });
    expect(row("lower", metric(5, 4, 6), "other mixes")).toMatchObject({ worth: "none", words: "", length: 0, absolute: "5/s" });
  });

  test("takes the program's verdict where there is one, and else what the pairs say", () => {
    const [a, b] = [engine("a"), engine("b")];
    const trials = (per_trial: number[]): Metric => ({ ...metric(per_trial[0]!, Math.min(...per_trial), Math.max(...per_trial), per_trial.length), per_trial });
    const row = (base: number[], own: number[], more: object = {}) => judgedRatio({ name: "", metrics: new Map([["a", trials(base)], ["b", trials(own)]]), groups: createGroups(), ...more }, b, a);
    // Ranges overlap, but the pairs have nearly the same ratio.
    expect(row([1, 2, 3, 4], [1.5, 3.1, 4.5, 6.1])).toMatchObject({ mark: "" });
    expect(row([1, 2, 3, 4], [4, 3, 2, 1])).toMatchObject({ ratio: expect.closeTo(1, 9), mark: "~" });
    expect(row([1, 2, 3], [4, 5, 6])).toMatchObject({ ratio: expect.closeTo(20 ** (1 / 3), 9), mark: "?" });
    // A trial that only one engine has is no pair.
    expect(row([1, 2, 3, 4], [2, 3, 4, 5], { groups: createGroups({ trials: createNumbers([2, 3, 4, 5]) }) })).toMatchObject({ ratio: expect.closeTo(1, 9), mark: "?" });
    const verdict: Relative = { base: "a", ratio: 1.3, low: 0.9, high: 1.8, verdict: "not_distinguishable", decided: false, more_pairs: 3, reason: null };
    expect(row([1, 1, 1, 1], [2, 2, 2, 2], { relatives: new Map([["b", verdict]]) })).toMatchObject({ ratio: 1.3, mark: "~" });
    expect(row([1, 1, 1, 1], [2, 2, 2, 2], { relatives: new Map([["b", { ...verdict, decided: true }]]) })).toMatchObject({ ratio: 1.3, mark: "=" });
  });

  test("judges no figure that the program does not judge, and says why", () => {
    const own = metric(20, 19, 21), base = metric(10, 9, 11);
    const cell = (more: object = {}, metrics: [Metric, Metric] = [base, own]) =>
      boardRows([engine("a"), engine("b")], [{ name: "", metrics: new Map([["a", metrics[0]], ["b", metrics[1]]]), groups: createGroups(), ...more }], engine("a"))[0]?.cells[1];
    const none = (reason: string) => ({ words: "not comparable", worth: "none", length: 0, absolute: expect.any(String), reason });
    expect(cell()).toMatchObject({ words: "2.0x more", worth: "better", reason: null });
    expect(cell({ groups: createGroups({ void: "debug-build" }) })).toMatchObject(none("void: debug-build"));
    expect(cell({}, [base, { ...own, combine: "merged_histograms", missing: "p99 needs 1,000 samples" }])).toMatchObject(none("not every trial has enough samples: p99 needs 1,000 samples"));
    expect(cell({}, [base, { ...own, per_trial: [0, 20, 20, 21] }])).toMatchObject(none("a value of 0 has no ratio"));
    expect(cell({ uncompared: new Set(["b"]) })).toMatchObject(none("kvdyno compares it with another engine, or with none"));
    const relative = { base: "a", ratio: 2, low: null, high: null, verdict: "spread_unknown", decided: false, more_pairs: null, reason: "void: debug-build" };
    expect(cell({ relatives: new Map([["b", relative]]) })).toMatchObject(none("void: debug-build"));
    // Builds of one engine may differ by a percent.
    const close = { ...base, per_trial: base.per_trial.map((value) => value! * 1.005) };
    expect([cell({}, [base, close]), cell({ groups: createGroups({ engine: "a" }) }, [base, close])].map((one) => one?.words)).toEqual(["1.00x more", "equal"]);
  });
});

test("a ratio says how sure it is, by the program's verdict", () => {
  const verdicts = ["base", "different", "not_distinguishable", "spread_unknown"] as const;
  const words = (verdict: Relative["verdict"], more: Partial<Relative>) => formatRelative({ base: "a", ratio: 1.5, low: null, high: null, verdict, decided: false, more_pairs: null, reason: null, ...more });
  expect(verdicts.map((verdict) => words(verdict, { low: 1, high: 2 }))).toEqual(["1.50", "1.50", "~1.50", "~1.50"]);
  // Below four trials there is no interval.
  expect(verdicts.map((verdict) => words(verdict, {}))).toEqual(["1.50", "1.50", "1.50?", "1.50?"]);
  expect(words("not_distinguishable", { decided: true })).toBe("=1.50");
  expect(words("spread_unknown", { reason: "void: debug-build" })).toBe("not comparable");
  expect(formatRelative(null)).toBe(NONE);
});

test("writes that promise different things have no ratio", () => {
  const engine = (id: string, durability: string): Engine => ({ id, name: id, title: id, durability, loadGenerator: false, drive: false, order: 0, hue: 0, again: false });
  const value = (value: number): Metric => ({
    name: "", unit: "1/s", direction: "higher", source: "", combine: "median", value,
    per_trial: [value, value, value, value], n: 4, min: value, max: value, interval: null, missing: null,
  });
  const engines = [engine("a", "commit"), engine("b", "async"), engine("c", "commit"), engine("d", "commit")];
  const metrics = new Map([["a", value(2)], ["b", value(20)], ["c", value(4)]]);
  const [row] = boardRows(engines, [{ name: "ops/s", metrics, groups: new Map([...createGroups(), ["c", createGroups().get("b")!]]) }], engines[0]!);
  expect(row?.cells.map((cell) => cell.words)).toEqual(["", "", "2.0x more", ""]);
  expect(row?.cells.map((cell) => cell.missing)).toEqual([null, null, null, NONE]);
});
