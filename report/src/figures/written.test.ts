// The bytes that engines report as written.

import { expect, test } from "vitest";
import type { Written } from "../data";
import type { View } from "../view";
import { written } from "./written";

test("what an engine says it wrote is counted as long as what the device wrote", () => {
  const report = (phase: string, bytes: number): Written =>
    ({ group: 0, trial: 1, phase, bytes: [["compaction", bytes]], user_bytes: 7, sources: ["its events"] });
  const draw = (settle: string | null) => {
    const work = { phase: "overwrite", load: false };
    const engine = { id: "a", name: "a", loadGenerator: false };
    const run = { phase: "overwrite", settle, metrics: [], roles: [] };
    const one = { index: 0, engine, work, threads: null, swept: null, load: null, run, group: { trials: [{ trial: 1, done: true }] } };
    const data = { written: [report("overwrite", 100), report("overwrite-settle", 20), report("other", 3)], summary: { groups: [] } };
    const view = { model: { data, cases: [one], engines: [engine], works: [work] }, work, cases: [one], engines: [engine], inside: {}, choice: { engines: [] } };
    return written.draw(view as unknown as View);
  };
  const [settled, alone] = [draw("overwrite-settle"), draw(null)];
  expect([settled, alone].map((drawing) => drawing?.table().rows[0]?.[4])).toEqual(["120 B", "100 B"]);
  expect(settled?.how?.[0]).toContain("and the settling after it");
  expect(alone?.how?.[0]).not.toContain("settling");
});
