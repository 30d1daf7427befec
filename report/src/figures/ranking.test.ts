// The columns and cells of the ranking.

import { expect, test } from "vitest";
import type { Question, Ranking, Standing } from "../ranked";
import { columnTitle, formatBehind, rankingColumns } from "./ranking";

test("each operation of a mix has a column, as on the terminal", () => {
  const create = (question: Question, op: string | null) => ({ question, op }) as Ranking;
  const rankings = [create("mixed", null), create("read_latency", "get"), create("read_latency", "scan"), create("read_latency", "get"), create("tail", "get"), create("loading", null)];
  const columns = rankingColumns(["loading", "read_latency", "tail", "mixed"], rankings, "mixed");
  expect(columns.map(columnTitle)).toEqual(["mixed", "get p99", "scan p99", "get p99.9", "load"]);
});

test("a distance to the best says how sure it is, as on the terminal", () => {
  const format = (verdict: Standing["verdict"], low: number | null) =>
    formatBehind({ verdict, ratio_to_best: 1.31, ratio_to_best_low: low } as Standing);
  expect((["base", "different", "not_distinguishable"] as const).map((verdict) => format(verdict, 0.9))).toEqual(["", "1.31×", "~"]);
  expect(formatBehind({ verdict: "not_distinguishable", decided: true, ratio_to_best: 1.01, ratio_to_best_low: 0.99 } as Standing)).toBe("equal");
  expect((["not_distinguishable", "spread_unknown"] as const).map((verdict) => format(verdict, null))).toEqual(["1.31×?", "1.31×?"]);
  expect(formatBehind({ verdict: "spread_unknown", ratio_to_best: null } as Standing)).toBe("");
});
