// The workloads that the figure of rates has together.

import { expect, test } from "vitest";
import type { View } from "../view";
import { rate } from "./rate";

/** Draws two workloads of these parts of a suite, each with a rate. */
function draw(parts: string[]) {
  const engine = { id: "a", name: "a", loadGenerator: false, drive: false };
  const works = parts.map((part, at) => ({ id: String(at), family: "reads", means: "", volume: null, phase: "reads", part, rate: at + 1, roles: ["readers"] }));
  const cases = works.map((work, index) => {
    const createMetric = (name: string, value: number) => ({ name, value, combine: "median", per_trial: [value], n: 1 });
    const metrics = [createMetric("offered_ops_per_s", index + 1), createMetric("response_ns_p50", 1000)];
    const run = { phase: "reads", roles: [{ role: "readers", metrics, ops: [] }] };
    return { index, engine, work, threads: 1, swept: null, load: null, run, group: { trials: [{ trial: 1, done: true }] } };
  });
  const model = { data: { summary: { search: null, groups: [] } }, works, cases, engines: [engine] };
  const view = { model, work: works[0], cases: cases.slice(0, 1), engines: [engine], inside: {}, choice: { engines: [], questions: [], parts: [], works: [] } };
  return rate.draw(view as unknown as View);
}

test("rates are compared within a part of a suite", () => {
  expect(draw(["a", "a"])?.table().rows.map((row) => row[3])).toEqual(["1", "2"]);
  expect(draw(["a", "b"])).toBeNull();
});
