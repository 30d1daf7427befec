// Texts of published figures.

import { describe, expect, test } from "vitest";
import { figureLabel, publishedEnds, rowNames, formatPublished, type Published, type Selectors } from "./study";

const NOTHING: Selectors = {
  drive: null, engine: null, part: null, volume: null, tier: null, ram: null, records: null, phase: null, role: null,
  op: null, io: null, block: null, depth: null, threads: null, setting: null, detail: null, printed: null,
};

const createRow = (of: Partial<Selectors>): Published =>
  ({ table: "t", title: "T", selectors: { ...NOTHING, ...of }, values: [], doubt: null, own: [], why_none: null });

const rate = { figure: "ops_per_s", unit: "1/s" };

describe("a published figure", () => {
  test("is a number, a range, or one end of it", () => {
    expect(formatPublished({ ...rate, value: 444e3, least: null, most: null })).toBe("444 k/s");
    expect(formatPublished({ ...rate, value: null, least: 760e3, most: 770e3 })).toBe("760 k/s to 770 k/s");
    expect(formatPublished({ ...rate, value: null, least: 2.1e6, most: null })).toBe("> 2.10 M/s");
    expect(publishedEnds({ ...rate, value: null, least: 760e3, most: 770e3 })).toEqual([760e3, 770e3]);
    expect(publishedEnds({ ...rate, value: null, least: null, most: 5 })).toEqual([5]);
    expect(["service_ns_p99_99", "wall_ns", "fs_outputs_512_per_record"].map(figureLabel)).toEqual(["service p99.99", "wall", "fs outputs 512 per record"]);
  });

  test("is called by what tells it from the others", () => {
    const load = { phase: "load" };
    expect(rowNames([createRow({ ...load, engine: "lmdb", volume: "raw" }), createRow({ ...load, engine: "lmdb", volume: "ext4" })])).toEqual(["raw", "ext4"]);
    expect(rowNames([createRow({ io: "rand read", depth: 1 }), createRow({ io: "rand read", depth: 16 })])).toEqual(["depth 1", "depth 16"]);
    expect(rowNames([createRow({ ...load, engine: "lmdb" })])).toEqual(["lmdb"]);
  });
});
