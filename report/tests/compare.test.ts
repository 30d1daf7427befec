// Comparisons of engines on the page of a run, in a real browser.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createOpener, hasBrowser, scrollThrough, startBrowser } from "./browser";
import { formatRatio } from "../src/format";
import { formatFineRatio, formatInterval, type PairedFigure } from "../src/paired";
import { addTrials, editPage, readPageData, recordsDir, writePage, writeRecord, writeReport } from "./records";

const browser = startBrowser();
const open = createOpener(browser);

/** The words for sizes of two databases. */
const SIZE: unknown = expect.stringMatching(/^~?[0-9.]+x (more|less)\??$|^equal$/);

describe.skipIf(!hasBrowser)("the page", () => {
  test("compares neither void figures nor other work", async () => {
    const debug = writePage("debug", { record: (record) => {
      if (record["case"]["engine"] === "rocksdb") record["worker"]["description"]["debug_build"] = true;
    } });
    // The load of an engine that has no batches is other work, and its own base.
    const single = editPage(writePage("plain"), "single", (data) => {
      for (const { label, load } of data.summary.groups) if (load?.relative) load.relative.base = label;
    });
    for (const [path, scope, sizes] of [[debug, "", []], [single, "section[data-work='load']", [SIZE]]] as const) {
      const { page, errors } = await open(path);
      await scrollThrough(page);
      expect(await page.locator(".verdicts li", { hasText: "(void: debug-build" }).count() > 0).toBe(path === debug);
      const words = await page.locator(`${scope} .scoreboard .words`).allTextContents();
      // Data has its size, however it was written.
      expect(words.filter((one) => one !== "not comparable"), scope).toEqual(sizes);
      expect(words).toContain("not comparable");
      expect(errors).toEqual([]);
      await page.close();
    }
  });

  test("shows the pairs behind each verdict, with the numbers that the program judged", async () => {
    const run = addTrials(writeRecord(join(recordsDir(), "six")), 1.2);
    const path = writeReport("six", run), data = readPageData(path);
    const { page, errors } = await open(path);
    await scrollThrough(page);
    const judged = data.summary.groups.flatMap((group) => group.runs.flatMap((run) => run.roles.flatMap(({ relative }) =>
      (relative?.low != null && relative.high != null ? [relative] : []))));
    expect(judged.length).toBe(2);
    const figure = page.locator("#overview .figure[data-figure='pairs']");
    const rows = figure.locator(".paired tbody tr");
    expect(await rows.locator(".ratio").allTextContents()).toEqual(judged.map((one) => `${one.ratio > 1 ? "▶" : "◀"}${formatFineRatio(one.ratio)}×`));
    expect(await rows.locator(".range").allTextContents()).toEqual(judged.map((relative) => formatInterval({ relative } as PairedFigure)));
    expect(await rows.locator(".verdict").allTextContents()).toEqual(judged.map(() => "decided, 6 pairs"));
    // A dot per pair, named by its trial, from top to bottom in the order of trials; a band; and a label of the whole.
    const dots = rows.first().locator("circle.dot");
    expect(await dots.locator("title").allTextContents()).toEqual([1, 2, 3, 4, 5, 6].map((trial) => expect.stringMatching(new RegExp(`^trial ${trial}: [0-9.]+×$`)) as string));
    const heights = await dots.evaluateAll((all) => all.map((dot) => Number(dot.getAttribute("cy"))));
    expect(heights).toEqual([...heights].sort((a, b) => a - b));
    expect(await rows.first().locator("rect.band").count()).toBe(1);
    expect(await rows.first().locator(".plot svg").getAttribute("aria-label")).toContain("RocksDB over LMDB");
    // Intervals after 4, 5 and 6 pairs; the last one is the judged interval.
    const course = await rows.first().locator(".convergence svg").getAttribute("aria-label");
    expect(course).toMatch(/after 4 pairs .*after 5 pairs .*after 6 pairs/);
    expect(course?.endsWith(`after 6 pairs ${formatRatio(judged[0]!.low!)} to ${formatRatio(judged[0]!.high!)}`)).toBe(true);
    // The load has its own figure of pairs, in its section.
    expect(await page.locator("section[data-work='load'] .figure[data-figure='pairs'] .ratio").count()).toBe(1);
    const [file] = await Promise.all([page.waitForEvent("download"), figure.getByRole("button", { name: "SVG" }).click()]);
    const saved = readFileSync(await file.path(), "utf8");
    for (const words of ["Pair by pair: against LMDB", "decided, 6 pairs", "Question: a record made by hand"]) expect(saved).toContain(words);
    expect(errors).toEqual([]);
  });
});
