// Call trees, without a browser.

import { expect, test } from "vitest";
import { listCallers, sumFunctions, listCalls, findCalls, nsPerOp, callShare, buildTree, type Flame } from "./flames";

const NAMES = ["start", "get", "search", "compare", "kernel"];

function createFlame(calls: Flame["calls"], samples: number): Flame {
  return {
    group: 0, phase: "reads", threads: "readers", owner: "role", trials: 1, rate_hz: 100, samples, cut: 0, lost: 0, operations: 1000,
    functions: NAMES.map((name) => ({ name, module: "lib.so" })), calls,
  };
}

const CALLS: Flame["calls"] = [
  [-1, 0, "system", 100, 0], [0, 1, "engine", 90, 10], [1, 2, "engine", 60, 40], [2, 3, "system", 10, 10], [2, 2, "engine", 10, 10], [0, 4, "kernel", 10, 10],
];

test("a call is as wide as its share, beside the others of its caller in the order of their names", () => {
  const root = buildTree(createFlame(CALLS, 100));
  const findCall = (name: string) => listCalls(root).find((call) => call.name === name)!;
  expect(listCallers(findCall("compare")).map((call) => call.name)).toEqual(["all", "start", "get", "search"]);
  expect([findCall("get").start, callShare(findCall("get"), 100)]).toEqual([0, 0.9]);
  expect([findCall("kernel").start, callShare(findCall("kernel"), 100)]).toEqual([0.9, 0.1]);
  for (const call of listCalls(root)) for (const callee of call.callees) {
    expect(callee.start).toBeGreaterThanOrEqual(call.start);
    expect(callee.start + callShare(callee, 100)).toBeLessThanOrEqual(call.start + callShare(call, 100) + 1e-9);
  }
});

test("a function that calls itself is counted once", () => {
  const sums = sumFunctions(buildTree(createFlame(CALLS, 100)));
  expect(sums.map((sum) => [sum.name, sum.own, sum.total])).toEqual([
    ["search", 50, 60], ["get", 10, 90], ["compare", 10, 10], ["kernel", 10, 10], ["start", 0, 100],
  ]);
  expect(nsPerOp(createFlame(CALLS, 100), 50)).toBe(500_000);
});

test("what is searched is marked, and its share has nothing twice", () => {
  const root = buildTree(createFlame(CALLS, 100)), { calls, share } = findCalls(root, "SEARCH");
  expect([calls.size, share]).toEqual([2, 0.6]);
  expect(findCalls(root, "nowhere").share).toBe(0);
  expect(findCalls(root, "").calls.size).toBe(0);
  // The root's name is the page's own, not a function's.
  expect(findCalls(root, "all").calls.size).toBe(0);
});

test("a change is that of the share of the same path", () => {
  const base = createFlame([[-1, 0, "system", 50, 0], [0, 1, "engine", 50, 50]], 50);
  const root = buildTree(createFlame(CALLS, 100), base);
  const others = Object.fromEntries(listCalls(root).map((call) => [[...listCallers(call), call].map((one) => one.name).join(" "), call.other]));
  expect(others["all start get"]).toBe(1);
  expect(others["all start get search"]).toBe(0);
  expect(others["all"]).toBe(1);
});
