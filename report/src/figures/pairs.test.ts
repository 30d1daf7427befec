// The axis of pairs, and the texts of verdicts.

import { describe, expect, test } from "vitest";
import { formatInterval, formatJudgedRatio, verdictSign, formatVerdict, type PairedFigure } from "../paired";
import { convergence } from "../judge";
import type { Engine } from "../model";
import { stripHeight, pairScale } from "./strips";

const engine: Engine = {
  id: "b", name: "b", title: "b", durability: "async", loadGenerator: false, drive: false, order: 1, hue: 1, again: false,
};

const createFigure = (ratios: number[], low: number | null, high: number | null, more: Partial<PairedFigure["relative"]> = {}): PairedFigure => {
  const pairs = ratios.map((ratio, at) => ({ trial: at + 1, ratio }));
  const relative = { base: "a", ratio: ratios[0] ?? 1, low, high, verdict: "different", decided: true, more_pairs: null, reason: null, ...more } as const;
  return { engine, base: "a", question: "Ops/s", direction: "higher", relative, pairs, course: convergence(pairs) };
};

describe("the axis of pairs", () => {
  test("holds 1 and every pair, and is logarithmic", () => {
    const scale = pairScale([createFigure([2, 4, 8], 1.5, 9), createFigure([0.5], null, null)]);
    for (const ratio of [0.5, 1, 2, 8, 9]) expect(scale.at(ratio)).toBeGreaterThan(0);
    for (const ratio of [0.5, 1, 2, 8, 9]) expect(scale.at(ratio)).toBeLessThan(100);
    expect(scale.at(4) - scale.at(2)).toBeCloseTo(scale.at(2) - scale.at(1));
    expect(scale.ticks).toContain(1);
  });

  test("has marks to read it by, whether ratios are close to 1 or far from it", () => {
    for (const ratios of [[1, 1.01], [1.2, 1.3], [0.4, 3], [14, 20], [200, 900]]) {
      const { ticks, low, high } = pairScale([createFigure(ratios, null, null)]);
      expect(ticks.length).toBeGreaterThan(1);
      expect(ticks.length).toBeLessThan(10);
      for (const tick of ticks) expect(tick >= low && tick <= high).toBe(true);
    }
  });

  test("is not stretched by one interval among many that knows nothing", () => {
    const many = Array.from({ length: 20 }, () => createFigure([1.1, 1.2], 1.05, 1.3));
    expect(pairScale([...many, createFigure([1.1], 0.001, 900)]).high).toBeLessThan(1.5);
    expect(pairScale([]).at(1)).toBeGreaterThan(0);
  });

  test("has no place for a rate of 0", () => {
    const scale = pairScale([createFigure([0], null, null, { reason: "a value of 0 has no ratio" }), createFigure([2], 1.5, 3)]);
    expect(Number.isFinite(scale.at(2))).toBe(true);
  });

  test("has room for many pairs", () => {
    expect(stripHeight(createFigure([1, 1], null, null))).toBe(26);
    expect(stripHeight(createFigure(Array.from({ length: 32 }, () => 1), null, null))).toBe(74);
  });
});

test("what is not judged has no ratio, and less time is better", () => {
  const void_ = createFigure([2, 2, 2, 2], null, null, { verdict: "spread_unknown", decided: false, reason: "void: debug-build" });
  expect([formatJudgedRatio(void_), formatVerdict(void_)]).toEqual(["–", "not judged: void: debug-build"]);
  expect(verdictSign({ ...createFigure([0.8], 0.7, 0.9), direction: "lower" })).toBe("▶");
});

test("a verdict is in the program's words", () => {
  const four = [1.1, 1.2, 1.3, 1.2];
  const tied = { verdict: "not_distinguishable", decided: false, more_pairs: 6 } as const;
  expect(formatVerdict(createFigure(four, 1.1, 1.4))).toBe("decided, 4 pairs");
  expect(formatVerdict(createFigure(four, 0.99, 1.01, { ...tied, decided: true }))).toBe("equal, 4 pairs");
  expect(formatVerdict(createFigure(four, 0.9, 1.4, tied))).toBe("undecided: about 6 more pairs");
  expect(formatVerdict(createFigure(four, 0.9, 1.4, { ...tied, more_pairs: null, reason: null }))).toBe("undecided: over 1,000 more pairs");
  expect(formatVerdict(createFigure([1.1], null, null, { ...tied, more_pairs: 1 }))).toBe("undecided: about 1 more pair");
  expect([verdictSign(createFigure(four, 1.1, 1.4)), verdictSign(createFigure([0.8], 0.7, 0.9)), verdictSign(createFigure(four, 0.9, 1.4, tied))]).toEqual(["▶", "◀", ""]);
  expect([formatInterval(createFigure(four, 1.1, 1.4)), formatInterval(createFigure(four, null, null))]).toEqual(["1.10 to 1.40", "–"]);
});
