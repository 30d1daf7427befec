// The page of many engines in a real browser.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, createOpener, findOverflow, scrollThrough, startBrowser } from "./browser";
import { readPageData, writeFieldPage } from "./records";

const browser = startBrowser();
let pages: { field: string };
const open = createOpener(browser);

describe.skipIf(!hasBrowser)("the page", () => {
  beforeAll(async () => {
    pages = { field: writeFieldPage() };
  });

  test("of twelve engines fits its window, light and dark, wide and narrow", async () => {
    for (const looks of [{ width: 1280 }, { width: 1280, dark: true }, { width: 390 }]) {
      const { page, errors } = await open(pages.field, { ...looks, hash: "#part=4x&question=tail" });
      await scrollThrough(page);
      expect(await findOverflow(page), JSON.stringify(looks)).toEqual([]);
      expect(errors).toEqual([]);
      await page.close();
    }
  });

  test("ranks twelve engines by question, each class for itself, with reasons for empty cells", async () => {
    const { page, errors } = await open(pages.field);
    // The answer is above all figures and not folded, with many engines, too.
    const headline = page.locator(".answer > .headline");
    expect(await headline.textContent()).toContain("direct fastest at 1 thread, 11.9 k gets/s");
    expect((await headline.boundingBox())?.y).toBeLessThan(300);
    const figure = page.locator(".figure[data-figure='ranking']");
    expect(await figure.count()).toBe(1);
    await figure.scrollIntoViewIfNeeded();
    await figure.locator("xpath=self::*[@data-drawn]").waitFor();
    expect(await figure.locator(".ranking thead th").allTextContents()).toEqual(["engine", "reads", "p99", "writes", "scans", "space", "write amp", "tail", "load"]);
    const reads = readPageData(pages.field).summary.rankings?.find((one) => one.main && one.question === "reads" && one.durability === "commit");
    const rows = figure.locator("tbody[data-class='commit'] tr[data-engine]");
    expect(await rows.evaluateAll((rows) => rows.map((row) => (row as HTMLElement).dataset["engine"]))).toEqual(reads?.standings.map((one) => one.engine));
    // The scoreboard's rows have the same order.
    const board = await page.locator("#overview .lying tbody th").allTextContents();
    expect(board).toEqual([...(reads?.standings ?? []).filter((one) => one.value != null).map((one) => `${one.engine} (commit)`), "SurrealKV (commit)", "LevelDB (async)"]);
    const standing = reads?.standings.find((one) => one.engine === "LMDB");
    const cell = figure.locator("tr[data-engine='LMDB'] td").nth(0);
    expect(await cell.locator(".rank").textContent()).toBe(`${standing?.rank}${standing?.tied ? "=" : ""}`);
    expect(await figure.locator("tr[data-engine='direct'] td").nth(3).textContent()).toBe("it has no scans");
    expect(await figure.locator("tr[data-engine='SurrealKV'] td").nth(0).textContent()).toBe("did not fit (0 of 4 trials)");
    expect(await figure.locator("tbody[data-class='async'] tr[data-engine]").allTextContents()).toEqual([expect.stringContaining("alone in its class")]);
    // The order by another question, and the other setting.
    const findSelect = (label: string) => figure.locator("label", { hasText: label }).locator("select");
    await findSelect("in the order of").selectOption("writes");
    await expect.poll(() => rows.first().getAttribute("data-engine")).toBe("direct");
    await expect.poll(() => rows.nth(1).getAttribute("data-engine")).toBe("rocksdb-tuned");
    await findSelect("setting").selectOption("RAM 512 MiB");
    await expect.poll(() => figure.locator("tr[data-engine='SurrealKV'] td").nth(0).locator(".rank").textContent()).toBe("11");
    expect(new URL(page.url()).hash).toBe("#f.ranking.order=writes&f.ranking.setting=RAM+512+MiB");
    expect(errors).toEqual([]);
  });

  test("of three engines has room for its scoreboard below its ranking", async () => {
    const hash = "#part=4x&question=reads&engine=LMDB+(commit)&engine=RocksDB+(commit)&engine=fjall+(commit)";
    for (const width of [1280, 1600]) {
      const { page, errors } = await open(pages.field, { width, hash });
      await page.locator("#overview .figure[data-drawn]").nth(2).waitFor();
      expect(await findOverflow(page), String(width)).toEqual([]);
      // All figures have their engines in the ranking's order.
      const order = await page.locator(".ranking tr[data-engine]").evaluateAll((rows) => rows.map((row) => (row as HTMLElement).dataset["engine"]));
      const rows = await page.locator("#overview .figure[data-figure='overview'] details tbody th").allTextContents();
      expect(rows).toEqual(order.map((engine) => `${engine} (commit)`));
      expect(errors).toEqual([]);
      await page.close();
    }
  });

  test("has a small chart for each of many engines, all with the same axes", async () => {
    const { page, errors } = await open(pages.field, { hash: "#part=4x&question=reads" });
    await scrollThrough(page);
    const figure = page.locator("section[data-work='randomread, RAM 28.0 MiB, part 4x'] .figure[data-figure='percentiles']");
    const texts = await figure.locator("svg text").allTextContents();
    const engines = ["LMDB (commit)", "libmdbx (commit)", "fjall (commit)", "LevelDB (async)"];
    for (const engine of engines) expect(texts.filter((text) => text === engine).length, engine).toBe(1);
    // Each chart has the same axis labels.
    const charts = new Set(texts.filter((text) => / \((commit|async)\)$/.test(text))).size;
    // An engine without a line has a chart, too, with the reason.
    expect(charts).toBe(12);
    expect(texts).toContain("SurrealKV (commit): does not fit");
    expect(texts.filter((text) => text === "99.9%").length).toBe(charts);
    // Few engines are in one chart.
    await page.goto(`${pathToFileURL(pages.field).href}#part=4x&question=reads&engine=LMDB+(commit)&engine=redb+(commit)`);
    await scrollThrough(page);
    expect((await figure.locator("svg text").allTextContents()).filter((text) => text === "99.9%").length).toBe(1);
    expect(errors).toEqual([]);
  });

  test("has every name whole, and trade-offs whose names lie on no other", async () => {
    const { page, errors } = await open(pages.field, { hash: "#part=4x&question=reads" });
    await scrollThrough(page);
    const bars = await page.locator("#overview .figure[data-figure='overview'] svg text").allTextContents();
    expect(bars.filter((text) => text === "rocksdb-tuned (commit)").length).toBe(3);
    const names = await page.locator(".figure[data-figure='tradeoff']").first().locator("svg text").evaluateAll((texts) =>
      texts.filter((text) => /\((commit|async)\)/.test(text.textContent ?? "")).map((text) => {
        const { left, right, top, bottom } = text.getBoundingClientRect();
        return { left, right, top, bottom };
      }));
    expect(names.length).toBeGreaterThan(20);
    const touching = names.filter((a, at) => names.slice(at + 1).some((b) => a.left < b.right - 2 && b.left < a.right - 2 && a.top < b.bottom - 4 && b.top < a.bottom - 4));
    expect(touching).toEqual([]);
    // A saved scoreboard has a row per engine, too.
    const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#overview .figure[data-figure='scoreboard']").getByRole("button", { name: "SVG" }).click()]);
    expect(Number(/width="(\d+)"/.exec(readFileSync(await file.path(), "utf8"))?.[1])).toBeLessThan(1500);
    expect(errors).toEqual([]);
  });

  test("is filtered by question and by part, and keeps that in its address", async () => {
    const { page, errors } = await open(pages.field);
    const readHeadings = () => page.locator("#figures h2").allTextContents();
    const findFilter = (name: string) => page.locator(`[data-filter='${name}']`);
    for (const part of ["fits", "scans"]) await findFilter(`part ${part}`).click();
    await expect.poll(() => new URL(page.url()).hash).toBe("#part=4x");
    for (const question of ["loading", "writes", "scans", "space", "write_amplification"]) await findFilter(`question ${question}`).click();
    const checkFilters = async (): Promise<void> => {
      await expect.poll(() => new URL(page.url()).hash).toBe("#question=reads&question=tail&part=4x");
      expect(await findFilter("question writes").getAttribute("aria-pressed")).toBe("false");
      expect((await readHeadings()).map((text) => text.split(":")[0])).toEqual(["Randomread", "Readwhilewriting", "Readagain"]);
      const figure = page.locator(".figure[data-figure='ranking']"), head = figure.locator(".ranking thead th");
      await figure.scrollIntoViewIfNeeded();
      await expect.poll(() => head.allTextContents()).toEqual(["engine", "reads", "p99", "tail"]);
    };
    await checkFilters();
    await page.reload();
    await page.waitForSelector("#raw");
    await checkFilters();
    await findFilter("LMDB (commit)").click();
    await expect.poll(() => page.locator(".figure[data-figure='ranking'] tr[data-engine='LMDB']").count()).toBe(0);
    expect(await page.locator("#host thead th").allTextContents()).toContain("part");
    expect(errors).toEqual([]);
  });
});
