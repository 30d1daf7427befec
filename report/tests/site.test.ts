// The pages of `kvdyno site` in a real browser, opened from a disk: the index, its filters and links.

import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, createOpener, startBrowser } from "./browser";
import { EVIL, HOSTILE, recordsDir, PROGRAM, writeRecord } from "./records";

const OLD = "2026-11-20T10-15-02Z_fixture_7f3a", NEW = "2026-11-25T10-15-02Z_other_0001", BAD = "2026-11-22T10-15-02Z_evil_0002";
const DAY_NS = 864e11;
const LIST = { ready: ".runs" };
const browser = startBrowser();
const open = createOpener(browser);
let index = "";

function runKvdyno(...args: string[]): void {
  const result = spawnSync(PROGRAM, args, { encoding: "utf8", cwd: recordsDir() });
  if (result.status !== 0) throw new Error(`${PROGRAM} ${args.join(" ")}: ${result.error ?? result.stderr}`);
}

function writeRun(id: string, days: number, more: (run: Record<string, any>) => void = () => {}, bend = {}): string {
  return writeRecord(join(recordsDir(), id), { ...bend, run: (run) => {
    more(run);
    run["id"] = id;
    run["started_unix_ns"] += days * DAY_NS;
    run["ended_unix_ns"] += days * DAY_NS;
  } });
}

const runNames = (page: Page) => page.$$eval(".runs tbody tr", (rows) => rows.map((row) => (row as HTMLElement).dataset["name"]));
const findPick = (page: Page, name: string) => page.locator(`[data-pick="${name}"]`);

describe.skipIf(!hasBrowser)("a site", () => {
  beforeAll(async () => {
    const runs = [
      writeRun(OLD, 0), writeRun(BAD, 2, (run) => EVIL.run?.(run), EVIL),
      writeRun(NEW, 5, (run) => { run["suite"] = "other"; run["host_before"]["hostname"] = "elsewhere"; }),
    ];
    runKvdyno("site", "site", ...runs.slice(0, 2));
    // Adds a run to the existing site.
    runKvdyno("site", "site", ...runs.slice(2));
    index = join(recordsDir(), "site/index.html");
  });

  test("lists its runs with their answers, and links to their reports and files", async () => {
    const { page, errors } = await open(index, LIST);
    expect(await runNames(page)).toEqual([NEW, BAD, OLD]);
    const row = page.locator(`tr[data-name="${OLD}"]`);
    expect(await row.locator(".said").textContent()).toContain("LMDB");
    expect(await row.locator(".findings").textContent()).toContain("0 of 3 decided");
    expect(await row.locator(".began").textContent()).toMatch(/AMD EPYC.*RAM.*vda/);
    for (const link of await row.locator(".files a").all()) {
      const path = join(dirname(index), await link.getAttribute("href") ?? "");
      expect(existsSync(path) && statSync(path).size > 500, path).toBe(true);
    }
    // Without a server no runs can be compared.
    expect(await page.locator("input[type=checkbox], .go").count()).toBe(0);
    await row.locator(".run > a").click();
    await page.waitForSelector("#raw");
    expect(page.url()).toContain(`/site/runs/${OLD}/index.html`);
    expect(errors).toEqual([]);
  });

  test("filters and sorts, and keeps that in its address", async () => {
    const { page, errors } = await open(index, LIST);
    await findPick(page, "suite").selectOption("other");
    expect(await runNames(page)).toEqual([NEW]);
    await page.reload();
    await page.waitForSelector(".runs");
    expect(await runNames(page)).toEqual([NEW]);
    expect(await findPick(page, "suite").inputValue()).toBe("other");
    await findPick(page, "suite").selectOption("");
    await findPick(page, "order").selectOption("oldest first");
    expect(await runNames(page)).toEqual([OLD, BAD, NEW]);
    await findPick(page, "from").fill("2026-11-21");
    await findPick(page, "to").fill("2026-11-23");
    await expect.poll(() => runNames(page)).toEqual([BAD]);
    await findPick(page, "from").fill("");
    await findPick(page, "to").fill("");
    await findPick(page, "engine").selectOption("LMDB");
    await expect.poll(() => runNames(page)).toEqual([OLD, NEW]);
    const machine = (await findPick(page, "machine").locator("option").allTextContents()).find((text) => text.startsWith("elsewhere"));
    await findPick(page, "machine").selectOption(machine ?? "");
    expect(await runNames(page)).toEqual([NEW]);
    expect(errors).toEqual([]);
  });

  test("shows what records say and runs none of it", async () => {
    const { page, errors } = await open(index, LIST);
    expect(await page.locator(`tr[data-name="${BAD}"] .run`).textContent()).toContain(HOSTILE);
    await page.waitForTimeout(300);
    expect(await page.evaluate(() => "hit" in window)).toBe(false);
    expect(await page.locator("img, iframe, object, embed, main b").count()).toBe(0);
    expect(errors).toEqual([]);
  });

  test("fits a narrow window, light and dark", async () => {
    const { page, errors } = await open(index, { ...LIST, width: 400, dark: true });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(400);
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe("rgb(23, 27, 33)");
    await page.locator(".theme").click();
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe("rgb(255, 255, 255)");
    // The link to a report carries the shade.
    expect(await page.locator(`tr[data-name="${OLD}"] .run > a`).getAttribute("href")).toBe(`runs/${OLD}/index.html#theme=light`);
    expect(errors).toEqual([]);
  });
});
