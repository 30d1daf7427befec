// Mixes of operations, and which costs are comparable.

import { expect, test } from "vitest";
import type { Metric, RoleRow } from "./data";
import { mixDifference, caseMix, formatMixes } from "./figures/mixes";
import { comparablePrices } from "./figures/tradeoff";
import type { Case } from "./model";

const createOperations = (value: number): Metric => ({
  name: "operations", unit: "ops", direction: "neither", source: "", combine: "sum", value,
  per_trial: [value], n: 1, min: value, max: value, interval: null, missing: null,
});

const createRole = (op: string, count: number): RoleRow => ({
  role: op, threads: 1, depth: null, open_loop: false, mix: op, metrics: [createOperations(count)], relative: null,
  ops: [],
});

/** Creates a case of readers and a writer that run at the same time. */
function createCase(name: string, gets: number, updates: number, threads = 1): Case {
  const roles = [createRole("get", gets), createRole("update", updates)];
  const engine = { id: name, name, durability: "async", loadGenerator: name === "load generator", hue: 0, again: false };
  return { engine, threads, run: { phase: "measure", metrics: [], roles } } as unknown as Case;
}

test("a mix is of all roles' operations", () => {
  expect([...caseMix(createCase("LMDB", 56, 44))!]).toEqual([["get", 0.56], ["update", 0.44]]);
  expect(formatMixes([createCase("LMDB", 56, 44), createCase("RocksDB", 16, 84)]))
    .toBe("LMDB 56 % get, 44 % update; RocksDB 16 % get, 84 % update");
  const single = createCase("LMDB", 56, 44);
  single.run!.roles.pop();
  expect([caseMix(single), formatMixes([single])]).toEqual([null, ""]);
});

test("costs of all roles are left out where engines did different work", () => {
  const unequal = [createCase("LMDB", 56, 44), createCase("RocksDB", 16, 84)];
  expect(mixDifference(unequal)).toBeCloseTo(0.4);
  const priceTitles = (cases: Case[]) => comparablePrices(cases).prices.map((price) => price.title);
  expect(priceTitles(unequal)).not.toContain("CPU time per op");
  expect(comparablePrices(unequal).why).toContain("Left out: CPU time per op.");
  // Nearly equal mixes; other numbers of threads and the load generator are not compared.
  const equal = [
    createCase("LMDB", 56, 44), createCase("RocksDB", 50, 50), createCase("LMDB", 90, 10, 8), createCase("load generator", 1, 99),
  ];
  expect(priceTitles(equal)).toContain("CPU time per op");
  expect(comparablePrices(equal).why).toBe("");
});
