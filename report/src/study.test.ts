// What was published, in words.

import { describe, expect, test } from "vitest";
import { calledOf, endsOf, namesOf, textOf, type Published, type Selectors } from "./study";

const NOTHING: Selectors = {
  drive: null, engine: null, part: null, volume: null, tier: null, ram: null, records: null, phase: null, role: null,
  op: null, io: null, block: null, depth: null, threads: null, setting: null, detail: null, printed: null,
};

const row = (of: Partial<Selectors>): Published =>
  ({ table: "t", title: "T", selectors: { ...NOTHING, ...of }, values: [], doubt: null, own: [], why_none: null });

const rate = { figure: "ops_per_s", unit: "1/s" };

describe("a published figure", () => {
  test("is a number, a range, or one end of it", () => {
    expect(textOf({ ...rate, value: 444e3, least: null, most: null })).toBe("444 k/s");
    expect(textOf({ ...rate, value: null, least: 760e3, most: 770e3 })).toBe("760 k/s to 770 k/s");
    expect(textOf({ ...rate, value: null, least: 2.1e6, most: null })).toBe("> 2.10 M/s");
    expect(endsOf({ ...rate, value: null, least: 760e3, most: 770e3 })).toEqual([760e3, 770e3]);
    expect(endsOf({ ...rate, value: null, least: null, most: 5 })).toEqual([5]);
    expect(["service_ns_p99_99", "wall_ns", "fs_outputs_512_per_record"].map(calledOf)).toEqual(["service p99.99", "wall", "fs outputs 512 per record"]);
  });

  test("is called by what tells it from the others", () => {
    const load = { phase: "load" };
    expect(namesOf([row({ ...load, engine: "lmdb", volume: "raw" }), row({ ...load, engine: "lmdb", volume: "ext4" })])).toEqual(["raw", "ext4"]);
    expect(namesOf([row({ io: "rand read", depth: 1 }), row({ io: "rand read", depth: 16 })])).toEqual(["depth 1", "depth 16"]);
    expect(namesOf([row({ ...load, engine: "lmdb" })])).toEqual(["lmdb"]);
  });
});
