// Computations of a trace's page, without a browser.

import { describe, expect, test } from "vitest";
import { logPosition, powerMarks } from "./plot";
import { summarizeTrace, formatShare, type Trace } from "./traces";

describe("an axis of powers of ten", () => {
  test("has a value where its logarithm is, and nothing outside", () => {
    expect([1, 10, 100].map((value) => logPosition(value, 1, 100))).toEqual([0, 0.5, 1]);
    expect([0, 1000].map((value) => logPosition(value, 1, 100))).toEqual([0, 1]);
    expect(logPosition(5, 5, 5)).toBe(0.5);
  });

  test("has a mark at each power, and no more than fit", () => {
    expect(powerMarks(0.001, 1, String)).toEqual([
      { at: 0, text: "0.001" }, { at: 1 / 3, text: "0.01" }, { at: 2 / 3, text: "0.1" }, { at: 1, text: "1" },
    ].map((mark) => ({ ...mark, at: expect.closeTo(mark.at, 9) as number })));
    expect(powerMarks(2, 50, String).map((mark) => mark.text)).toEqual(["10"]);
    expect(powerMarks(1, 1e12, String).length).toBeLessThanOrEqual(7);
  });
});

test("shares are read as percents, small ones as small", () => {
  expect([0, 0.0001, 0.001, 0.0525, 0.25, 1].map(formatShare)).toEqual(["0 %", "< 0.1 %", "0.1 %", "5.3 %", "25 %", "100 %"]);
});

test("the sentence says what a tenth of the keys gets, and of an empty trace that it is", () => {
  const trace = {
    header: { kind: "keys", file: "t", times: "exact", requests: 12_000, span_ns: 1e9, ops: { get: 12_000 } },
    mix: { get: 1 }, mean_per_s: 12_000, sampled: 1, distinct: 400, key_bytes: null, written_bytes: null, read_bytes: null,
    popular: [{ keys: 0.1, requests: 0.9, lru_hits: 0.62 }], windows: [],
  } satisfies Trace;
  expect(summarizeTrace(trace)).toBe("12,000 requests of 400 keys, 12.0 k per second on average. A tenth of the keys gets 90 % of the requests, and an LRU cache of as many would have 62 % of them.");
  expect(summarizeTrace({ ...trace, header: { ...trace.header, requests: 0 } })).toBe("There is no request in it.");
});
