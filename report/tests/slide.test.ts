// Exported figures: each alone, and the notes on engines without a mark.

import { beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, figureNames, createOpener, scrollThrough, startBrowser } from "./browser";
import { writePage, RICH } from "./records";

const browser = startBrowser();
const open = createOpener(browser);
let pages: Record<"plain" | "rich", string>;

describe.skipIf(!hasBrowser)("a figure", () => {
  beforeAll(async () => {
    pages = { plain: writePage("plain"), rich: writePage("rich", RICH) };
  });

  test("says at its place which engine has no mark, and why", async () => {
    const { page, errors } = await open(pages.plain);
    await scrollThrough(page);
    // The note is below a chart over threads, in the place of a bar, or below a map.
    const figureText = async (name: string): Promise<string> => (await page.locator(`.figure[data-figure='${name}']`).first().locator(".drawing, .without").allTextContents()).join(" ");
    for (const name of ["overview", "throughput", "latency", "tradeoff"]) expect(await figureText(name), name).toContain("RocksDB at 2 threads: does not fit");
    for (const name of ["amplification", "cost", "time"]) expect(await figureText(name), name).toContain("– does not fit");
    for (const name of ["percentiles", "timeline"]) expect(await figureText(name), name).toContain("RocksDB: does not fit");
    expect(errors).toEqual([]);
  });

  test("shows one figure alone, as large as the window, with its conditions", async () => {
    for (const [width, theme] of [[1600, "light"], [1280, "dark"]] as const) {
      const { page, errors } = await open(pages.plain, { hash: `#figure=throughput&theme=${theme}`, width, ready: ".slide" });
      expect(await page.locator(".filters, .controls, button, .head").count()).toBe(0);
      const text = await page.locator(".slide").textContent();
      for (const words of ["Throughput against threads", "RocksDB at 2 threads: does not fit", "LMDB 0.9.70", "2 trials of 10.0 s", "RAM limit 28.0 MiB", "2026-11-20"]) expect(text).toContain(words);
      const box = await page.locator(".slide > svg").boundingBox();
      expect(box).toEqual({ x: 0, y: 0, width, height: 900 });
      expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(theme === "dark" ? "rgb(23, 27, 33)" : "rgb(255, 255, 255)");
      // No text is cut off.
      const cutOff = await page.$$eval(".slide text", (texts) => texts.filter((text) => { const { left, right, bottom } = text.getBoundingClientRect(); return left < 0 || right > innerWidth || bottom > innerHeight; }).length);
      expect(cutOff).toBe(0);
      expect(errors).toEqual([]);
    }
  });

  test("shows each of its figures alone, and says which there are", async () => {
    const { page, errors } = await open(pages.rich, { hash: "#figure=no-such", ready: ".slide" });
    expect(await page.locator("[role='alert']").textContent()).toContain('found "no-such"');
    const listed = await page.locator(".slide li a").allTextContents();
    expect(listed).toContain("throughput");
    for (const name of listed) {
      await page.evaluate((hash) => { location.hash = hash; }, `figure=${name}`);
      await page.waitForSelector(`.slide[data-figure='${name}'] > *`);
      expect(await page.locator(".slide").textContent(), name).toContain("Question: a record made by hand");
      expect(await page.evaluate(() => [document.documentElement.scrollWidth <= innerWidth, document.documentElement.scrollHeight <= innerHeight]), name).toEqual([true, true]);
    }
    // Goes from the page to a figure, and back.
    await page.evaluate(() => { location.hash = "theme=light"; });
    await page.waitForSelector("#raw");
    expect(listed.sort()).toEqual((await figureNames(page)).sort());
    await page.locator(".figure[data-figure='cost'] .tools a").first().click();
    await page.waitForSelector(".slide[data-figure='cost']");
    expect(new URL(page.url()).hash).toContain("figure=cost");
    await page.goBack();
    await page.waitForSelector(".figure[data-figure='cost']");
    expect(errors).toEqual([]);
  });
});
