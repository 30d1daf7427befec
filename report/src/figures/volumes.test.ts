// The workloads and ratios of several volumes.

import { expect, test } from "vitest";
import type { Relative } from "../data";
import type { Work } from "../model";
import { formatRelativeVolume, volumeSiblings } from "./volumes";

test("volumes are compared within a part, and across parts that have one each", () => {
  const create = (volume: string, part: string | null) => ({ family: "load", means: "", rate: null, volume, part }) as Work;
  const siblings = (works: Work[]) => volumeSiblings(works, works[0]!).map(({ volume, part }) => `${volume} ${part}`);
  expect(siblings([create("flash", null), create("optane", null)])).toEqual(["flash null", "optane null"]);
  expect(siblings([create("flash", "a"), create("optane", "b")])).toEqual(["flash a", "optane b"]);
  const all = ["a", "b"].flatMap((part) => ["flash", "optane"].map((volume) => create(volume, part)));
  expect(siblings(all)).toEqual(["flash a", "optane a"]);
});

test("a ratio to another volume than the first names it", () => {
  const relative: Relative = { base: "xfs", ratio: 1.5, low: 1.4, high: 1.6, verdict: "different", decided: true, more_pairs: null, reason: null };
  expect([formatRelativeVolume(relative, "xfs"), formatRelativeVolume(relative, "raw")]).toEqual(["1.50", "1.50 vs. xfs"]);
});
