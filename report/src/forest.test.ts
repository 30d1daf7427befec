// The axis that all ratios of a comparison share.

import { describe, expect, test } from "vitest";
import type { VersusRow } from "./data";
import { OUTLINES, POINTS, ratioScale } from "./forest";

const createRow = (ratio: number | null, low: number | null = null, high: number | null = null): VersusRow => ({
  phase: "measure", role: null, op: null, scope: "measure", figure: "ops_per_s", unit: "1/s", direction: "higher",
  base: { value: 1, n: 6, min: 1, max: 1 }, new: { value: 1, n: 6, min: 1, max: 1 }, paired: false,
  ratio, ratio_low: low, ratio_high: high, ratios: [], within: 0.03, verdict: "undecided", reason: null,
});

test("every point is seen on the line of its interval", () => {
  // A dash would be hidden by that line.
  expect(POINTS.described).not.toBe(OUTLINES.described);
});

describe("the axis of ratios", () => {
  test("has 1 in its middle and is the same to both sides", () => {
    const scale = ratioScale([createRow(1.3, 1.1, 1.4), createRow(0.8, 0.7, 0.9)]);
    expect(scale.most).toBe(1.5);
    expect(scale.at(1)).toBe(50);
    expect(scale.at(1.5)).toBeCloseTo(100);
    expect(scale.at(1 / 1.5)).toBeCloseTo(0);
    expect(scale.at(1.2) - 50).toBeCloseTo(50 - scale.at(1 / 1.2));
    expect(scale.ticks.length).toBe(5);
  });

  test("holds every ratio, and is not stretched by one interval that knows nothing", () => {
    const many = Array.from({ length: 20 }, () => createRow(1.02, 0.98, 1.06));
    expect(ratioScale([...many, createRow(1.04, 0.001, 900)]).most).toBeLessThan(1.2);
    expect(ratioScale([...many, createRow(7)]).most).toBe(10);
  });

  test("stands without ratios, and with impossible ones", () => {
    for (const rows of [[], [createRow(null)], [createRow(0)], [createRow(1e9)]]) {
      const scale = ratioScale(rows);
      expect(scale.most).toBeGreaterThan(1);
      for (const ratio of [0, 1e-12, 1, 1e12]) expect(scale.at(ratio)).toBeGreaterThanOrEqual(0);
      for (const ratio of [0, 1e-12, 1, 1e12]) expect(scale.at(ratio)).toBeLessThanOrEqual(100);
    }
  });
});
