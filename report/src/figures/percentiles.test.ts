// The curves of percentiles.

import { expect, test } from "vitest";
import { THEMES } from "../colour";
import type { Curve } from "../data";
import type { Engine } from "../model";
import { percentileChart } from "./percentiles";

test("a curve of ten samples is drawn", () => {
  const engine: Engine = { id: "a", name: "a", title: "a", durability: "", loadGenerator: false, drive: false, order: 0, hue: 0, again: false };
  const draw = (points: Curve["points"]) => {
    const curve: Curve = { group: 0, phase: "measure", role: "readers", op: null, kind: "service", n: 10, points };
    const { option } = percentileChart([{ title: "", short: "", lines: [{ engine, curve }] }], 600, THEMES.light);
    return (option["series"] as { data: unknown[] }[]).map(({ data }) => data.length);
  };
  expect(draw([[0, 5000], [0.111, 6000]])).toEqual([2]);
  // The fastest of many would stretch the axis.
  expect(draw([[0, 5], [0.301, 5000], [1, 6000]])).toEqual([2]);
});
