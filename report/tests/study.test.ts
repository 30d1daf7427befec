// A published study next to a run that the program itself made, in a real browser.

import type { Locator } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, figureNames, createOpener, scrollThrough, startBrowser } from "./browser";
import { readPageData, editPage, writeStudyPage } from "./records";
import { findSeatMetric, formatPublished } from "../src/study";
import { formatValue } from "../src/format";

const browser = startBrowser();
const open = createOpener(browser);
let path: string;

const cellTexts = (rows: Locator): Promise<string[][]> =>
  rows.evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent ?? "")));

describe.skipIf(!hasBrowser)("a study beside a run", () => {
  beforeAll(async () => {
    path = writeStudyPage();
  });

  test("has a section with both machines, both figures, and the claims", async () => {
    const { page, errors } = await open(path);
    await scrollThrough(page);
    const section = page.locator("#study");
    expect(await section.locator("h2").first().textContent()).toBe("The study next to this run");
    expect(await section.locator("[data-sheet='study']").textContent()).toContain("E5-2620");
    const rows = await cellTexts(section.locator("[data-sheet='published'] tbody tr"));
    const at = rows.findIndex((row) => row[0]?.startsWith("published") && row[1] === "rocksdb" && row.includes("444,000"));
    expect(at).toBeGreaterThan(-1);
    expect(rows[at + 1]?.slice(0, 2)).toEqual(["this run", "rocksdb"]);
    // A published row without a comparable row says so.
    expect(rows.some((row) => /^this run - \[\d+\]$/.test(row[0] ?? ""))).toBe(true);
    const claims = await cellTexts(section.locator("[data-sheet='claims'] tbody tr"));
    expect(claims.map((row) => row[0]?.replace(/ \[\d+\]$/, ""))).toEqual(["holds", "undecided"]);
    expect(await section.locator("[data-sheet='claims'] tr.holds").count()).toBe(1);
    expect(errors).toEqual([]);
  });

  test("begins with what came of the claims, before any figure and both machines", async () => {
    const { page } = await open(path);
    await scrollThrough(page);
    expect(await page.locator(".headline").first().textContent()).toBe("1 of 2 claims holds, 0 do not, 1 is undecided.");
    expect(await page.locator(".answer").textContent()).toContain("Undecided: engine aerospike was not measured.");
    const [headline, claims, figure, machines] = await Promise.all([".headline", "[data-sheet='claims']", ".figure", "[data-sheet='study']"]
      .map(async (selector) => (await page.locator(selector).first().boundingBox())?.y ?? NaN));
    expect(headline).toBeLessThan(claims!);
    expect(claims).toBeLessThan(900);
    expect(claims).toBeLessThan(figure!);
    expect(figure).toBeLessThan(machines!);
  });

  test("folds claims that are undecided, where there is nothing else either", async () => {
    const undecidedPage = editPage(path, "untold", (data) => {
      const claims = data.sheets?.find((sheet) => sheet.name === "claims");
      if (claims) claims.rows = Array.from({ length: 8 }, () => ["undecided [1]", ...(claims.rows[0] ?? []).slice(1)]);
    });
    const { page, errors } = await open(undecidedPage);
    expect(await page.locator("[data-sheet='claims'] details").first().locator("> summary").textContent()).toBe("8 undecided");
    expect(await page.locator("[data-sheet='claims'] table:visible").count()).toBe(0);
    await page.locator("[data-sheet='claims'] summary").first().click();
    expect(await page.locator("[data-sheet='claims'] table:visible tbody tr").count()).toBe(8);
    expect(errors).toEqual([]);
  });

  test("has latencies of each operation of a mix by itself, and of no pool", async () => {
    const { page, errors } = await open(path, { hash: "#workload=mix-50-50" });
    await scrollThrough(page);
    const rows = await page.locator(".scoreboard tbody th").allTextContents();
    expect(rows.filter((row) => /p99\b/.test(row) && !/p99\.9/.test(row))).toEqual(["get p99, 256 threads", "update p99, 256 threads"]);
    const texts = await page.locator(".figure[data-figure='percentiles'] svg text").allTextContents();
    expect(texts.filter((text) => text.startsWith("clients, "))).toEqual(["clients, get, time of one operation", "clients, update, time of one operation"]);
    expect(errors).toEqual([]);
  });

  test("draws what was published hollow, beside what was measured", async () => {
    const { page, errors } = await open(path);
    await scrollThrough(page);
    expect((await figureNames(page))[0]).toBe("published");
    const { summary } = readPageData(path);
    const row = summary.study?.published.find((row) => row.selectors.engine === "rocksdb" && row.selectors.phase === "mix-100-0");
    const value = row?.values.find((value) => value.figure === "ops_per_s");
    const seat = row?.own[0];
    if (!value || !seat) throw new Error("nothing of the run is like what was published");
    const measured = findSeatMetric(summary, seat, "ops_per_s")?.value;
    const figure = page.locator(".figure[data-figure='published']");
    expect(await figure.count()).toBe(1);
    expect(await figure.locator("svg text", { hasText: "published: Raidix, 2017" }).count()).toBe(1);
    for (const text of [formatPublished(value), formatValue(measured, "1/s")]) {
      expect(await figure.locator("svg text", { hasText: text }).count()).toBeGreaterThan(0);
    }
    const table = await cellTexts(figure.locator("details tbody tr"));
    expect(table.find((row) => row[0] === "mix-100-0")?.slice(1, 3)).toEqual([formatPublished(value), formatValue(measured, "1/s")]);
    // The figure of throughput has it, too, at the study's number of threads.
    const throughput = page.locator(".figure[data-figure='throughput']").first();
    expect(await throughput.locator("svg text", { hasText: "published" }).count()).toBe(1);
    expect(await throughput.locator("figcaption .note").textContent()).toContain("Hollow: published, Raidix, 2017");
    const rates = await cellTexts(throughput.locator("details tbody tr"));
    expect(rates.find((row) => row[0]?.endsWith(", published"))?.slice(1, 4)).toEqual(["clients", "256", "444 k/s"]);
    // Ranking and scoreboard do not have it.
    expect(await page.locator("#overview").textContent()).not.toMatch(/published/i);
    expect(errors).toEqual([]);
  });

  test("says what this machine could not do", async () => {
    const { page } = await open(path);
    const list = await page.locator("#not-here li").allTextContents();
    expect(list).toEqual([expect.stringMatching(/^aerospike is not run: .*/)]);
    expect(await page.locator("#host").textContent()).not.toContain("aerospike is not run");
  });

  test("fits a narrow window", async () => {
    const { page, errors } = await open(path, { width: 400 });
    await scrollThrough(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(400);
    const cut = await page.$$eval("#beside svg text", (texts) => texts.filter((text) => {
      const picture = text.closest("svg")?.getBoundingClientRect(), { left, right } = text.getBoundingClientRect();
      return picture !== undefined && (left < picture.left - 1 || right > picture.right + 1);
    }).map((text) => text.textContent));
    expect(cut).toEqual([]);
    expect(errors).toEqual([]);
  });
});
