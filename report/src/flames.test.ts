// Call trees, without a browser.

import { expect, test } from "vitest";
import { callersOf, functionsOf, listed, matched, nsPerOp, shareOf, treeOf, type Flame } from "./flames";

const NAMES = ["start", "get", "search", "compare", "kernel"];

function flame(calls: Flame["calls"], samples: number): Flame {
  return {
    group: 0, phase: "reads", threads: "readers", owner: "role", trials: 1, rate_hz: 100, samples, cut: 0, lost: 0, operations: 1000,
    functions: NAMES.map((name) => ({ name, module: "lib.so" })), calls,
  };
}

const CALLS: Flame["calls"] = [
  [-1, 0, "system", 100, 0], [0, 1, "engine", 90, 10], [1, 2, "engine", 60, 40], [2, 3, "system", 10, 10], [2, 2, "engine", 10, 10], [0, 4, "kernel", 10, 10],
];

test("a call is as wide as its share, beside the others of its caller in the order of their names", () => {
  const root = treeOf(flame(CALLS, 100));
  const named = (name: string) => listed(root).find((call) => call.name === name)!;
  expect(callersOf(named("compare")).map((call) => call.name)).toEqual(["all", "start", "get", "search"]);
  expect([named("get").start, shareOf(named("get"), 100)]).toEqual([0, 0.9]);
  expect([named("kernel").start, shareOf(named("kernel"), 100)]).toEqual([0.9, 0.1]);
  for (const call of listed(root)) for (const callee of call.callees) {
    expect(callee.start).toBeGreaterThanOrEqual(call.start);
    expect(callee.start + shareOf(callee, 100)).toBeLessThanOrEqual(call.start + shareOf(call, 100) + 1e-9);
  }
});

test("a function that calls itself is counted once", () => {
  const sums = functionsOf(treeOf(flame(CALLS, 100)));
  expect(sums.map((sum) => [sum.name, sum.own, sum.total])).toEqual([
    ["search", 50, 60], ["get", 10, 90], ["compare", 10, 10], ["kernel", 10, 10], ["start", 0, 100],
  ]);
  expect(nsPerOp(flame(CALLS, 100), 50)).toBe(500_000);
});

test("what is searched is marked, and its share has nothing twice", () => {
  const root = treeOf(flame(CALLS, 100)), { calls, share } = matched(root, "SEARCH");
  expect([calls.size, share]).toEqual([2, 0.6]);
  expect(matched(root, "nowhere").share).toBe(0);
  expect(matched(root, "").calls.size).toBe(0);
  // The root has a name of the page's own.
  expect(matched(root, "all").calls.size).toBe(0);
});

test("a change is that of the share of the same path", () => {
  const base = flame([[-1, 0, "system", 50, 0], [0, 1, "engine", 50, 50]], 50);
  const root = treeOf(flame(CALLS, 100), base);
  const others = Object.fromEntries(listed(root).map((call) => [[...callersOf(call), call].map((one) => one.name).join(" "), call.other]));
  expect(others["all start get"]).toBe(1);
  expect(others["all start get search"]).toBe(0);
  expect(others["all"]).toBe(1);
});
