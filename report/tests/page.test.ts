// The page of a run in a real browser.

import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, figureNames, createOpener, scrollThrough, startBrowser } from "./browser";
import { formatDuration, formatValue, NONE, formatSi } from "../src/format";
import { BARE, CREW, readPageData, DRIVE, DRIVE_ALONE, EVIL, HOSTILE, writePage, RATES, RICH, SIZES, VOLUMES } from "./records";

const browser = startBrowser();
const open = createOpener(browser);
let pages: Record<"drive" | "alone" | "plain" | "rich" | "sizes" | "rates" | "volumes" | "evil" | "bare", string>;

describe.skipIf(!hasBrowser)("the page", () => {
  beforeAll(async () => {
    pages = {
      plain: writePage("plain"), rich: writePage("rich", RICH), sizes: writePage("sizes", SIZES), rates: writePage("rates", RATES), volumes: writePage("volumes", VOLUMES), evil: writePage("evil", EVIL), bare: writePage("bare", BARE),
      drive: writePage("drive", DRIVE), alone: writePage("alone", DRIVE_ALONE),
    };
  });

  test("draws every figure, each with its table, and fetches nothing", async () => {
    const { page, errors } = await open(pages.rich);
    await scrollThrough(page);
    expect(await figureNames(page)).toEqual([
      "pairs", "overview", "scoreboard", "throughput", "latency", "percentiles", "tails", "heat", "time", "timeline", "amplification", "cost", "tradeoff", "blockio",
    ]);
    // Each has a number of its own, in the order of the page.
    const numbers = await page.$$eval(".figure .ordinal", (all) => all.map((one) => one.textContent));
    expect(numbers).toEqual(numbers.map((_, at) => `Figure ${at + 1}`));
    const empty = await page.$$eval(".figure", (figures) => figures
      .filter((figure) => !figure.querySelector(".drawing svg path, .drawing svg text, .scoreboard td") || !figure.querySelector("details tbody tr"))
      .map((figure) => figure.id));
    expect(empty).toEqual([]);
    const areNamed = await page.$$eval(".drawing > div > svg, .drawing svg[role]", (pictures) => pictures.every((picture) => picture.getAttribute("aria-label")));
    expect(areNamed).toBe(true);
    expect(await page.locator(".figure[data-figure='timeline'] svg", { hasText: "compaction" }).count()).toBeGreaterThan(0);
    expect(errors).toEqual([]);
  });

  test("has p95 wherever a table has p50 and p99", async () => {
    for (const [path, least] of [[pages.rich, 3], [pages.rates, 2], [pages.alone, 1]] as const) {
      const { page } = await open(path);
      await scrollThrough(page);
      const heads = await page.$$eval("table", (all) => all.map((table) => [...table.querySelectorAll("thead th")].map((cell) => cell.textContent)));
      const tails = heads.filter((head) => head.includes("p50") && head.includes("p99"));
      expect(tails.length, path).toBeGreaterThanOrEqual(least);
      expect(tails.filter((head) => !head.includes("p95")), path).toEqual([]);
    }
    // Its value is the record's.
    const { page } = await open(pages.rich);
    await scrollThrough(page);
    const { groups } = readPageData(pages.rich).summary;
    const rates = groups.flatMap((group) => group.runs.flatMap((run) => run.roles.flatMap((role) => role.metrics)));
    const p95 = rates.filter((metric) => metric.name === "service_ns_p95" && metric.value != null).map((metric) => formatDuration(metric.value ?? 0));
    const table = page.locator(".figure[data-figure='latency'] details table").first();
    const column = (await table.locator("thead th").allTextContents()).indexOf("p95");
    const texts = await table.locator("tbody tr").evaluateAll((rows, at) => rows.map((row) => row.children[at]?.textContent ?? ""), column);
    expect(texts.some((text) => p95.includes(text))).toBe(true);
  });

  test("shows where the time went, and the device's latency and depth over time", async () => {
    const { page, errors } = await open(pages.rich);
    await scrollThrough(page);
    const { groups, explained } = readPageData(pages.rich).summary;
    const explanations = explained.filter((one) => one.role === "writer" && one.cause !== null && !groups[one.group]?.stores_nothing);
    expect(explanations.map((one) => one.cause)).toContain("flushes");
    const figures = page.locator(".figure[data-figure='time']");
    // One figure of the measured phase, with a panel per role, and one of the load.
    expect(await figures.count()).toBe(2);
    const measured = figures.first();
    expect(await measured.locator("svg", { hasText: "writer" }).locator("text", { hasText: /^sync \d+$/ }).count()).toBeGreaterThan(0);
    const rows = await measured.locator("details tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent ?? "")));
    const writers = rows.filter((row) => row[1] === "writer");
    expect(writers.length).toBe(explanations.length);
    expect(writers[0]?.[2]).toBe("flushes");
    expect(writers[0]?.slice(4, 16)).toEqual(["10.0 %", "10.0 %", "0 %", "0 %", "16.0 %", "64.0 %", "0 %", "0 %", "0 %", "0 %", "0 %", "0 %"]);
    // A missing value is not zero.
    const loads = await figures.last().locator("details tbody tr").first().locator("td, th").allTextContents();
    expect(loads[6]).toBe(NONE);
    expect(await measured.locator(".how .note").allTextContents()).toContainEqual(expect.stringContaining("flushes per write"));
    const panes = page.locator(".figure[data-figure='timeline'] svg");
    for (const pane of ["latency of a device read", "latency of a device flush", "device queue depth", "device reads, IOPS"]) {
      expect(await panes.filter({ hasText: pane }).count()).toBeGreaterThan(0);
    }
    expect(errors).toEqual([]);
  });

  test("shows the ranks of a crew, and none where there is no crew", async () => {
    const { page, errors } = await open(writePage("crew", CREW));
    await scrollThrough(page);
    const figures = page.locator(".figure[data-figure='ranks']");
    // One of the measured phase, and one of the load.
    expect(await figures.count()).toBe(2);
    const rows = await figures.first().locator("details tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent ?? "")));
    const paces = rows.filter((row) => row[0] === "LMDB" && row[2] === "1").map((row) => [row[1], row[3], row[6]]);
    expect(paces).toEqual([["node0", "0", "100 %"], ["node0", "1", "100 %"], ["{b|node1}", "2", "100 %"], ["{b|node1}", "3", "50.0 %"]]);
    // Braces in a host's name are not drawn.
    expect(await figures.first().locator("svg text", { hasText: "b node1" }).count()).toBe(1);
    expect(errors).toEqual([]);
    const plain = await open(pages.rich);
    expect(await figureNames(plain.page)).not.toContain("ranks");
  });

  test("shows rates and sizes of RAM where a run has several", async () => {
    for (const [path, number] of [[pages.sizes, "memory"], [pages.rates, "rate"]] as const) {
      const { page, errors } = await open(path);
      await scrollThrough(page);
      expect(await figureNames(page)).toContain(number);
      expect(await page.locator(`.figure[data-figure='${number}']`).count()).toBe(1);
      expect(errors).toEqual([]);
    }
  });

  test("shows what a search was after, and where that stops being met", async () => {
    for (const [path, number, answer] of [[pages.sizes, "memory", "LMDB meets `readers.ops > 15k/s` with 56 MiB of RAM"], [pages.rates, "rate", "LMDB meets `readers.p99 < 50ms` even at 2.00 k/s"]] as const) {
      const { page, errors } = await open(path);
      await scrollThrough(page);
      expect(await page.locator("body").innerText()).toContain(answer);
      const figure = page.locator(`.figure[data-figure='${number}']`);
      expect(await figure.innerText()).toContain("ashed: what ");
      expect((await figure.innerText()).includes("where it stops being met")).toBe(number === "memory");
      expect(await figure.locator("svg text", { hasText: /^target$/ }).count()).toBe(1);
      // The edge is an area between two bounds, if there is an edge.
      expect(await figure.locator("svg path[fill-opacity='0.18']").count()).toBe(number === "memory" ? 2 : 0);
      expect(errors).toEqual([]);
    }
    const { page } = await open(pages.plain);
    expect(await page.locator("body").innerText()).not.toContain("stops being met");
  });

  test("shows each engine on each volume where a run has several", async () => {
    const { page, errors } = await open(pages.volumes);
    await scrollThrough(page);
    const figure = page.locator("section[data-work='measure, on ext4'] .figure[data-figure='volumes']");
    expect(await page.locator(".figure[data-figure='volumes']").count()).toBe(2);
    const rows = await figure.locator("details tbody tr").evaluateAll((rows) =>
      rows.map((row) => [...row.children].map((cell) => cell.textContent ?? "")));
    const readers = rows.filter((row) => row[2] === "1" && row[3] === "readers");
    expect(readers.map((row) => [row[0], row[1]])).toEqual([["LMDB", "ext4"], ["LMDB", "xfs"]]);
    expect(readers.map((row) => row[5])).toEqual(["1.00", "0.77?"]);
    expect(errors).toEqual([]);
  });

  test("shows how far engines are from the drive, and the drive by itself", async () => {
    const { page, errors } = await open(pages.drive);
    await scrollThrough(page);
    expect(await figureNames(page)).toContain("efficiency");
    const data = readPageData(pages.drive);
    const shares = data.summary.groups.flatMap((group) => group.runs.flatMap((run) => {
      if (!run.efficiency) return [];
      const share = run.metrics.find((metric) => metric.name === "ceiling_share_percent")?.value;
      return [share == null ? NONE : formatValue(share, "%")];
    }));
    const rows = await page.$$eval(".figure[data-figure='efficiency'] details tbody tr", (rows) =>
      rows.map((row) => [...row.children].map((cell) => cell.textContent ?? "")));
    expect(rows.map((row) => row[7])).toEqual(shares);
    expect(rows[0]?.slice(0, 3)).toEqual(["LMDB", "reads", "psync 4k × 2"]);
    // The bare drive has a line in the throughput of readers, and is not among the engines.
    expect(await page.locator(".figure[data-figure='throughput'] svg", { hasText: "bare drive" }).count()).toBe(1);
    expect(await page.locator(".scoreboard thead th").allTextContents()).not.toContain("psync-2");
    expect(await page.locator("#figures h2").allTextContents()).toEqual(["Random reads while one thread updates", "Load in key order", "Device limits"]);
    const jobs = await page.locator("section[data-work='the drive'] .load table").first().locator("tbody th").allTextContents();
    expect(jobs).toEqual(["mix-70-30", "uring-32 *", "psync-2 *", "psync-3 *"]);
    expect(errors).toEqual([]);
  });

  test("of the drive alone has its tables and its times", async () => {
    const { page, errors } = await open(pages.alone);
    expect(await page.locator(".headline").textContent()).toMatch(/reads\/s, p99 .* at depth/);
    // The setting names the drive, and notes on engines are absent.
    expect(await page.locator(".setting").textContent()).toMatch(/^\d+ x .* on vda/);
    expect(await page.locator(".figure[data-figure='timeline'] .note").first().textContent()).not.toContain("stalled");
    await scrollThrough(page);
    expect(await figureNames(page)).toEqual(["percentiles", "timeline"]);
    expect(await page.locator("#figures h2").allTextContents()).toEqual(["Device limits"]);
    expect(await page.locator("section[data-work='the drive'] .load table").nth(1).textContent()).toContain("clat");
    expect(errors).toEqual([]);
  });

  test("has the data's own figures in its tables", async () => {
    const data = readPageData(pages.plain);
    const { page } = await open(pages.plain);
    await scrollThrough(page);
    const rows = await page.$$eval(".figure[data-figure='throughput'] details tbody tr", (rows) =>
      rows.map((row) => [...row.children].map((cell) => cell.textContent ?? "")));
    const expected = data.summary.groups.flatMap((group) => group.runs.flatMap((run) => run.roles.map((role) => {
      const rate = role.metrics.find((metric) => metric.name === "ops_per_s");
      return rate?.value == null ? rate?.missing : `${formatSi(rate.value)}/s`;
    })));
    expect(rows.map((row) => row[3])).toEqual(expected);
    // The headline is the run's answer.
    expect(await page.locator(".headline").allTextContents()).toEqual([data.summary.answer?.[0]]);
    const answers = await page.locator(".answers dd").allTextContents();
    // Measured workloads come before the load.
    expect(answers).toEqual(data.answers.map((answer) => answer.sentence).reverse());
  });

  test("keeps filters in its address, over a reload", async () => {
    const { page, errors } = await open(pages.plain);
    await page.locator("[data-filter='LMDB']").focus();
    await page.keyboard.press("Space");
    await expect.poll(() => new URL(page.url()).hash).toBe("#engine=RocksDB");
    expect(await page.evaluate(() => (document.activeElement as HTMLElement).dataset["filter"])).toBe("LMDB");
    await page.locator("[data-filter='2']").click();
    await page.locator("[data-filter='load']").click();
    const checkFilters = async (): Promise<void> => {
      await expect.poll(() => new URL(page.url()).hash).toBe("#engine=RocksDB&workload=measure&threads=1");
      expect(await page.locator("[data-filter='LMDB']").getAttribute("aria-pressed")).toBe("false");
      await scrollThrough(page);
      expect(await page.locator(".scoreboard thead th").allTextContents()).toEqual(["figure", "RocksDB"]);
      expect(await page.locator("#figures h2").allTextContents()).toEqual(["Random reads while one thread updates"]);
    };
    await checkFilters();
    await page.reload();
    await page.waitForSelector("#raw");
    await checkFilters();
    expect(errors).toEqual([]);
  });

  test("keeps a choice inside a figure, too", async () => {
    const { page } = await open(pages.plain);
    await scrollThrough(page);
    await page.locator(".figure[data-figure='percentiles'] select").last().selectOption("1");
    await expect.poll(() => new URL(page.url()).hash).toBe("#f.percentiles.threads=1");
    await page.reload();
    await scrollThrough(page);
    expect(await page.locator(".figure[data-figure='percentiles'] select").last().inputValue()).toBe("1");
    expect(await page.locator(".figure[data-figure='percentiles'] details:not(.how)").last().textContent()).toContain("RocksDB");
  });

  test("is dark where the reader's system is, and by its button", async () => {
    const { page, errors } = await open(pages.plain, { dark: true });
    const groundColour = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await scrollThrough(page);
    expect(await groundColour()).toBe("rgb(23, 27, 33)");
    expect(await page.locator(".figure[data-drawn='dark']").count()).toBe(await page.locator(".figure").count());
    await page.locator(".theme").click();
    expect(await groundColour()).toBe("rgb(255, 255, 255)");
    await expect.poll(() => new URL(page.url()).hash).toBe("#theme=light");
    expect(await page.locator(".figure[data-drawn='dark']").count()).toBe(0);
    expect(errors).toEqual([]);
  });

  test("prints all of it, on white", async () => {
    const { page, errors } = await open(pages.plain, { dark: true });
    await page.emulateMedia({ media: "print" });
    await page.waitForFunction(() => [...document.querySelectorAll<HTMLElement>(".figure")].every((figure) => figure.dataset["drawn"] === "print"));
    // Figures are as wide as the paper, also those that are side by side on the screen.
    const pictureWidth = (name: string) => page.locator(`.figure[data-figure='${name}'] .drawing svg`).first().getAttribute("width");
    expect(await pictureWidth("overview")).toBe(await pictureWidth("throughput"));
    await page.emulateMedia({ media: "screen" });
    expect((await page.pdf({ format: "A4" })).length).toBeGreaterThan(20_000);
    expect(errors).toEqual([]);
  });

  test("is whole for whoever captures it, without a scroll", async () => {
    const { page, errors } = await open(pages.rich);
    await page.waitForFunction(() => document.documentElement.dataset["drawn"] === "all");
    expect(await page.evaluate(() => scrollY)).toBe(0);
    expect(await page.locator(".figure[data-drawn]").count()).toBe(await page.locator(".figure").count());
    expect(errors).toEqual([]);
  });

  test("has a table of contents that leads to each figure, and leaves the address alone", async () => {
    const { page, errors } = await open(pages.rich, { hash: "#threads=2" });
    await page.waitForFunction(() => document.documentElement.dataset["drawn"] === "all");
    await page.locator(".contents > summary").click();
    const links = page.locator(".contents li a");
    expect(await links.count()).toBe(await page.locator("#overview .figure, #figures .figure").count());
    await links.last().click();
    const last = page.locator(".figure").last();
    await expect.poll(async () => { const box = await last.boundingBox(); return box != null && box.y > -5 && box.y < 900; }).toBe(true);
    expect(new URL(page.url()).hash).toBe("#threads=2");
    expect(errors).toEqual([]);
  });

  test("asks its question in its title, whatever the run is called", async () => {
    const { page } = await open(writePage("named", { run: (run) => { run["name"] = "nightly <7>"; } }));
    expect(await page.locator("h1").textContent()).toBe("a record made by hand, to be read forever");
    expect(await page.locator(".kicker").textContent()).toContain("nightly <7>");
    expect(await page.title()).toContain("nightly <7>");
  });

  test("fits a narrow window", async () => {
    const { page, errors } = await open(pages.rich, { width: 400 });
    await scrollThrough(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(400);
    const wide = await page.$$eval(".drawing svg", (pictures) => pictures.filter((picture) => picture.getBoundingClientRect().right > 400).length);
    expect(wide).toBe(0);
    expect(errors).toEqual([]);
  });

  test("saves figures and the data", async () => {
    const { page, errors } = await open(pages.plain);
    await scrollThrough(page);
    const figure = page.locator(".figure[data-figure='throughput']");
    const saveFile = async (label: string): Promise<Buffer> => {
      const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: label }).and(page.locator(".figure[data-figure='throughput'] button, .raw")).first().click()]);
      return readFileSync(await file.path());
    };
    expect(await figure.count()).toBe(1);
    const svg = (await saveFile("SVG")).toString("utf8");
    expect(svg).toMatch(/^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    expect(svg).toContain("Throughput against threads");
    // The picture has its conditions, and not its number on the page.
    expect(svg).not.toContain("Figure");
    for (const words of ["Question: a record made by hand", "RAM limit 28.0 MiB", "durability commit", " x AMD EPYC", "figures decided", "Missing: RocksDB at 2 threads: does not fit",
      "LMDB 0.9.70", "readers: 1, 2 threads; writer: 1 thread", "2 trials of 10.0 s", "whiskers: lowest to highest trial", "2026-11-20", "higher is better"]) expect(svg).toContain(words);
    const board = page.locator(".figure[data-figure='scoreboard'] button").first();
    const [file] = await Promise.all([page.waitForEvent("download"), board.click()]);
    expect(readFileSync(await file.path(), "utf8")).toContain("RocksDB");
    expect((await saveFile("PNG")).subarray(1, 4).toString()).toBe("PNG");
    expect(JSON.parse((await saveFile("All figures")).toString("utf8"))).toEqual(readPageData(pages.plain));
    expect(errors).toEqual([]);
  });

  test("shows what a record says and runs none of it", async () => {
    const { page, errors } = await open(pages.evil);
    await scrollThrough(page);
    expect(await page.locator("h1").textContent()).toBe(HOSTILE);
    for (const number of ["throughput", "percentiles", "timeline", "amplification", "tradeoff"]) {
      const picture = page.locator(`.figure[data-figure='${number}'] .drawing`).last();
      const box = await picture.boundingBox();
      if (!box) continue;
      await picture.scrollIntoViewIfNeeded();
      for (let step = 1; step < 12; step += 1) await picture.hover({ position: { x: (box.width * step) / 12, y: box.height / 3 }, force: true });
    }
    await page.locator("details > summary").evaluateAll((all) => all.forEach((summary) => (summary as HTMLElement).click()));
    await page.emulateMedia({ media: "print" });
    expect(await page.evaluate(() => "hit" in window)).toBe(false);
    expect(await page.locator("img, iframe, object, embed").count()).toBe(0);
    expect(await page.locator("script").count()).toBe(2);
    expect(errors).toEqual([]);
  });

  test("opens with next to nothing in it", async () => {
    const { page, errors } = await open(pages.bare);
    await scrollThrough(page);
    expect(await page.locator("#host").textContent()).toContain("no drive known");
    expect(await page.locator(".head").textContent()).toContain("The RAM limit was not held");
    expect(await page.locator("#page").textContent()).not.toMatch(/NaN|undefined|Infinity|\[object/);
    expect(errors).toEqual([]);
  });

  test("says how fast it opens", async () => {
    const times: number[] = [];
    for (let at = 0; at < 3; at += 1) {
      const began = performance.now();
      const { page } = await open(pages.rich);
      await page.locator(".figure").first().scrollIntoViewIfNeeded();
      await page.locator(".figure[data-drawn]").first().waitFor();
      times.push(performance.now() - began);
      await page.close();
    }
    console.log(`the page opens and draws its first figure in ${times.map((ms) => ms.toFixed(0)).join(", ")} ms`);
  });
});
