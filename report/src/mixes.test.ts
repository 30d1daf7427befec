// What operations a phase was made of, and what may be compared then.

import { expect, test } from "vitest";
import type { Metric, RoleRow } from "./data";
import { mixDifference, mixOf, mixWords } from "./figures/mixes";
import { pricesOf } from "./figures/tradeoff";
import type { Case } from "./model";

const operations = (value: number): Metric => ({
  name: "operations", unit: "ops", direction: "neither", source: "", combine: "sum", value,
  per_trial: [value], n: 1, min: value, max: value, interval: null, missing: null,
});

const role = (op: string, count: number): RoleRow => ({
  role: op, threads: 1, depth: null, open_loop: false, mix: op, metrics: [operations(count)], relative: null,
  ops: [],
});

/** Readers and a writer beside each other. */
function did(name: string, gets: number, updates: number, threads = 1): Case {
  const roles = [role("get", gets), role("update", updates)];
  const engine = { id: name, name, durability: "async", loadGenerator: name === "load generator", hue: 0, again: false };
  return { engine, threads, run: { phase: "measure", metrics: [], roles } } as unknown as Case;
}

test("a mix is of all roles' operations", () => {
  expect([...mixOf(did("LMDB", 56, 44))!]).toEqual([["get", 0.56], ["update", 0.44]]);
  expect(mixWords([did("LMDB", 56, 44), did("RocksDB", 16, 84)]))
    .toBe("LMDB 56 % get, 44 % update; RocksDB 16 % get, 84 % update");
  const alone = did("LMDB", 56, 44);
  alone.run!.roles.pop();
  expect([mixOf(alone), mixWords([alone])]).toEqual([null, ""]);
});

test("costs of all roles are left out where engines did different work", () => {
  const unequal = [did("LMDB", 56, 44), did("RocksDB", 16, 84)];
  expect(mixDifference(unequal)).toBeCloseTo(0.4);
  const titles = (cases: Case[]) => pricesOf(cases).prices.map((price) => price.title);
  expect(titles(unequal)).not.toContain("CPU time per op");
  expect(pricesOf(unequal).why).toContain("Left out: CPU time per op.");
  // As good as equal; other numbers of threads, and the load generator, are not compared.
  const equal = [
    did("LMDB", 56, 44), did("RocksDB", 50, 50), did("LMDB", 90, 10, 8), did("load generator", 1, 99),
  ];
  expect(titles(equal)).toContain("CPU time per op");
  expect(pricesOf(equal).why).toBe("");
});
