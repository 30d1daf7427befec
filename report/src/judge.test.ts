// Pairs of trials, and the interval of their ratio, with numbers of the program's own rule.

import { describe, expect, test } from "vitest";
import type { Metric, Relative } from "./data";
import { areJudged, convergence, figureMargins, ratioInterval, judgePairs, meanRatio, pairTrials, studentQuantile } from "./judge";

const createMetric = (per_trial: (number | null)[]): Metric => {
  const values = per_trial.filter((value) => value != null);
  return {
    name: "ops_per_s", unit: "1/s", direction: "higher", source: "", combine: "median", value: values[0] ?? null,
    per_trial, n: values.length, min: Math.min(...values), max: Math.max(...values), interval: null, missing: null,
  };
};
const createTrials = (values: (number | null)[], numbers = values.map((_, at) => at + 1)) => ({ metric: createMetric(values), numbers });

describe("a pair", () => {
  test("is a trial that both have, in the order in which it came", () => {
    const pairs = pairTrials(createTrials([10, 20, null, 40], [1, 2, 3, 5]), createTrials([80, 30, 5, 20], [5, 2, 3, 1]));
    expect(pairs).toEqual([{ trial: 1, ratio: 2 }, { trial: 2, ratio: 1.5 }, { trial: 5, ratio: 2 }]);
    expect(pairTrials(createTrials([0, 1]), createTrials([1, 0]))).toEqual([]);
  });
});

describe("the interval of the ratio", () => {
  test("reaches as far as the tables of Student's t say", () => {
    const table = [[1, 63.6567], [2, 9.92484], [3, 5.84091], [4, 4.60409], [5, 4.03214], [11, 3.10581], [31, 2.74404]] as const;
    for (const [freedom, t] of table) expect(studentQuantile(freedom, 0.99)).toBeCloseTo(t, 3);
    expect(studentQuantile(4, 0.95)).toBeCloseTo(2.776445, 5);
  });

  // Output of the program: five trials of RocksDB over LMDB.
  const lmdb = createTrials([373.8268022471664, 411.9133177642061, 319.8490665721215, 325.00098561436437, 238.1033899920181]);
  const rocksdb = createTrials([1129.9303746354913, 955.1023563018954, 901.8133817814331, 812.1122282131619, 846.1039724052554]);
  const relative: Relative = {
    base: "lmdb", ratio: 2.8108475330982468, low: 1.994232303498565, high: 3.96185732247125,
    verdict: "different", decided: true, more_pairs: null, reason: null,
  };

  test("is the program's own, to the last digit that is shown", () => {
    const pairs = pairTrials(lmdb, rocksdb);
    expect(ratioInterval(pairs)?.low).toBeCloseTo(1.994232303498565, 9);
    expect(ratioInterval(pairs)?.high).toBeCloseTo(3.96185732247125, 9);
    expect(meanRatio(pairs)).toBeCloseTo(2.8108475330982468, 9);
    expect(areJudged(pairs, relative)).toBe(true);
    expect(areJudged(pairs.slice(1), relative)).toBe(false);
    expect(areJudged(pairs.slice(0, 3), { ...relative, low: null, high: null })).toBe(true);
  });

  test("is there from the fourth pair on, and ends as that of all", () => {
    const pairs = pairTrials(lmdb, rocksdb), course = convergence(pairs);
    expect(course.map((one) => one.pairs)).toEqual([4, 5]);
    expect(course.at(-1)).toEqual(ratioInterval(pairs));
    expect(convergence(pairs.slice(0, 3))).toEqual([]);
  });

  test("of pairs that never differ has no width", () => {
    expect(ratioInterval(pairTrials(createTrials([1, 1, 1, 1]), createTrials([2, 2, 2, 2])))).toMatchObject({ ratio: 2, low: 2, high: 2 });
  });
});

test("what a figure's pairs say", () => {
  const judge = (base: number[], other: number[], within = 0.03, bias = 0) => judgePairs(pairTrials(createTrials(base), createTrials(other)), { within, bias });
  expect(judge([1, 1.1, 0.9, 1], [2, 2.1, 1.9, 2])).toBe("");
  // Neither medians nor ranges count, only the pairs.
  expect(judge([1, 2, 3, 4], [1.5, 3.1, 4.4, 6])).toBe("");
  expect(judge([1, 2, 3, 4], [2, 1, 4, 3])).toBe("~");
  expect(judge([1, 2, 3, 4], [1.001, 1.999, 3.001, 3.999])).toBe("=");
  expect(judge([1, 2, 3, 4], [1.001, 1.999, 3.001, 3.999], 0.0001)).toBe("~");
  expect([judge([1, 2], [3, 4]), judge([1, 3], [2, 4]), judge([1], [2])]).toEqual(["?", "?", "?"]);
  // A certain difference that is smaller than the bias may be none.
  const close = [1.005, 1.006, 1.005, 1.006];
  expect([judge([1, 1, 1, 1], close), judge([1, 1, 1, 1], close, 0.03, 0.01)]).toEqual(["", "="]);
});

test("the margins of a figure are the program's", () => {
  expect(figureMargins("ops_per_s", 0.03, ["lmdb", "rocksdb"])).toEqual({ within: 0.03, bias: 0 });
  expect(figureMargins("service_ns_p99", 0.03, ["lmdb", "rocksdb"])).toEqual({ within: 0.03, bias: 0.008 });
  expect(figureMargins("response_ns_p99", 0.001, ["lmdb", "lmdb"])).toEqual({ within: 0.01, bias: 0.01 });
});
