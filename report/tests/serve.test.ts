// What `kvdyno serve` shows, in a real browser: the list, a run at work, a comparison.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { VersusData, VersusRow } from "../src/data";
import { hasBrowser, startBrowser } from "./browser";
import { change, EVIL, HOSTILE, place, PROGRAM, record, sixTrials } from "./records";

let RUNS: string;
const OLD = "2026-11-20T10-15-02Z_fixture_7f3a", NEW = "2026-11-21T10-15-02Z_fixture_0001", BAD = "2026-11-19T10-15-02Z_evil<b>_0002";
const browser = startBrowser();
let server: ChildProcess;
let base = "";

interface Opened {
  page: Page;
  wrong: string[];
}

async function open(path: string, { width = 1280, dark = false } = {}): Promise<Opened> {
  const page = await browser().newPage({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light" });
  const wrong: string[] = [];
  // What the page's policy forbids is an error on the console as well.
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("dialog", (dialog) => { wrong.push(`dialog ${dialog.message()}`); void dialog.dismiss(); });
  page.on("request", (request) => /^(data|blob):/.test(request.url()) || request.url().startsWith(base) || wrong.push(`request ${request.url()}`));
  await page.goto(base + path);
  await page.waitForSelector("h1");
  return { page, wrong };
}

const box = (page: Page, name: string) => page.locator(`input[data-run="${name}"]`);

const rename = (name: string) => ({ run: (run: Record<string, unknown>) => { run["id"] = name; } });

describe.skipIf(!hasBrowser)("the server", () => {
  beforeAll(async () => {
    RUNS = join(place(), "runs");
    mkdirSync(RUNS);
    sixTrials(record(join(RUNS, OLD)), 1);
    sixTrials(record(join(RUNS, NEW), rename(NEW)), 1.5);
    record(join(RUNS, BAD), { ...EVIL, run: (run) => { EVIL.run?.(run); run["id"] = HOSTILE; } });
    server = spawn(PROGRAM, ["serve", "--port", "0", "--runs", RUNS], { stdio: ["ignore", "pipe", "inherit"] });
    base = await new Promise<string>((said, failed) => {
      server.stdout?.on("data", (text: Buffer) => said(text.toString().trim()));
      server.on("exit", (code) => failed(new Error(`${PROGRAM} serve ended with ${code}`)));
    });
  });

  afterAll(async () => {
    server?.removeAllListeners("exit");
    server?.kill("SIGINT");
  });

  test("lists the runs, the newest first, and compares two of them", async () => {
    const { page, wrong } = await open("");
    expect(await page.$$eval(".runs tbody tr", (rows) => rows.map((row) => (row as HTMLElement).dataset["name"]))).toEqual([NEW, OLD, BAD]);
    // Told apart by their data and engines; what did not all end well is not complete.
    const row = page.locator(`tr[data-name="${OLD}"]`);
    expect(await row.locator(".run").textContent()).toContain("1.00 M × 116 B = 111 MiB, RAM limit");
    expect(await row.locator(".engines").textContent()).toBe("LMDB, RocksDB");
    expect(await row.locator(".state").last().textContent()).toMatch(/^ended: \d+ not done$/);
    expect(await page.locator(".go").count()).toBe(0);
    await box(page, NEW).focus();
    await page.keyboard.press("Space");
    expect(await page.evaluate(() => (document.activeElement as HTMLElement).dataset["run"])).toBe(NEW);
    await box(page, OLD).check();
    await page.reload();
    await expect.poll(() => page.locator("input:checked").count()).toBe(2);
    // The older one is the base, in whatever order they were chosen.
    expect(await page.locator(".go").getAttribute("href")).toBe(`/compare/${OLD}/${NEW}`);
    await page.getByRole("button", { name: "Swap" }).click();
    expect(await page.locator(".go").getAttribute("href")).toBe(`/compare/${NEW}/${OLD}`);
    await page.getByRole("button", { name: "Swap" }).click();
    await page.locator(".go").click();
    await page.waitForSelector(".pairs");
    expect(await page.locator(".sides a").allTextContents()).toEqual([OLD, NEW]);
    await page.locator(".home").click();
    await page.waitForSelector(".runs");
    await page.locator(".runs .run a").first().click();
    await page.waitForSelector("#raw");
    expect(new URL(page.url()).pathname).toBe(`/runs/${NEW}`);
    expect(await page.locator(".live").count()).toBe(0);
    await page.locator(".figure[data-drawn]").first().waitFor();
    expect(wrong).toEqual([]);
  });

  test("shows every figure of a comparison with its verdict", async () => {
    const { page, wrong } = await open(`compare/${OLD}/${NEW}`);
    const data = await (await page.request.get(`${base}compare/${OLD}/${NEW}.json`)).json() as VersusData;
    const rows = data.versus?.pairs.flatMap((pair) => pair.rows) ?? [];
    const shown = () => page.$$eval(".pairs tr[data-verdict]", (list) => list.map((row) => (row as HTMLElement).dataset["verdict"]));
    expect(await shown()).toEqual(rows.map((row) => row.verdict));
    // One run of each side has ratios and no verdict.
    expect(await shown()).toContain("too_few");
    // The answer, the plot, how sure it is; what differs comes last.
    expect(await page.locator("h2").allTextContents()).toEqual(["Figures", "Left out", "How sure this is", "What differs", "Raw data"]);
    expect(await page.locator(".pairs tr[data-verdict='too_few'] .verdict").first().textContent()).toContain("too few");
    expect(await page.locator(".sentence").allTextContents()).toEqual(data.versus?.answer);
    const slower = (row: VersusRow) => row.verdict === "too_few" && (row.ratio ?? 1) < 1;
    const [at, row] = [rows.findIndex(slower), rows.find(slower)];
    const line = page.locator(".pairs tr[data-verdict]").nth(at);
    expect(await line.locator(".ratio").textContent()).toBe(row?.ratio?.toFixed(3));
    // The marker stands left of 1.
    const place = await line.locator("svg.forest").evaluate((picture) => {
      const middle = (element: Element) => { const box = element.getBoundingClientRect(); return box.x + box.width / 2; };
      return { one: middle(picture.querySelector(".one")!), point: middle(picture.querySelector(".point")!) };
    });
    expect(place.point).toBeLessThan(place.one);

    await page.locator("[data-filter='described']").click();
    expect(new URL(page.url()).hash).not.toBe("");
    await page.reload();
    await page.waitForSelector(".pairs");
    expect(await shown()).not.toContain("described");
    await page.getByRole("link", { name: "All figures" }).click();
    await page.waitForSelector(".pairs");
    expect((await shown()).length).toBeGreaterThan(rows.length);
    expect(wrong).toEqual([]);
  });

  test("says why two runs cannot be compared", async () => {
    const { page, wrong } = await open(`compare/${OLD}/${OLD}`);
    expect(await page.locator(".refused").textContent()).toContain(OLD);
    expect(wrong).toEqual([]);
  });

  test("follows a run at work, and becomes its report", async () => {
    const name = "2026-11-22T10-15-02Z_fixture_0003", run = record(join(RUNS, name), rename(name));
    rmSync(join(run, "complete"));
    change(join(run, "run.json"), (json) => { json["ended_unix_ns"] = null; });
    const last = join(run, "cases/0018_null_t2_r2"), before = join(run, "cases/0017_null_t1_r2"), aside = join(place(), "aside");
    rmSync(last, { recursive: true });
    renameSync(join(before, "case.json"), aside);
    // As the program does while it is at work.
    const lock = spawn("flock", [run, "sleep", "600"], { stdio: "ignore", detached: true });
    try {
      const list = await open("");
      await list.page.locator(`tr[data-name="${name}"][data-state="running"]`).waitFor();
      const { page, wrong } = await open(`runs/${name}`);
      await page.locator(".live .stand", { hasText: "16 of 18 cases" }).waitFor();
      expect(await page.locator(".live .case").textContent()).toContain("0017_null_t1_r2");
      expect(await page.locator(".live .gauge").count()).toBeGreaterThan(0);
      await page.evaluate(() => { (window as unknown as Record<string, boolean>)["same"] = true; });
      renameSync(aside, join(before, "case.json"));
      await page.locator(".live .stand", { hasText: "17 of 18 cases" }).waitFor();
      writeFileSync(join(run, "complete"), "");
      await page.locator(".live").waitFor({ state: "detached" });
      expect(await page.locator(".kicker").textContent()).not.toContain("at work");
      expect(await page.evaluate(() => "same" in window)).toBe(true);
      await list.page.locator(`tr[data-name="${name}"][data-state="complete"]`).waitFor();
      expect([...wrong, ...list.wrong]).toEqual([]);
      await list.page.close();
      await page.close();
    } finally {
      process.kill(-(lock.pid ?? 0));
      rmSync(run, { recursive: true });
    }
  });

  test("shows what records say and runs none of it", async () => {
    const name = encodeURIComponent(BAD);
    for (const path of ["", `runs/${name}`, `compare/${name}/${OLD}`, `compare/${OLD}/${name}`]) {
      const { page, wrong } = await open(path);
      await page.waitForTimeout(300);
      expect(await page.evaluate(() => "hit" in window), path).toBe(false);
      expect(await page.locator("img, iframe, object, embed, main b").count(), path).toBe(0);
      expect(await page.locator("script").count(), path).toBe(2);
      expect(wrong, path).toEqual([]);
      await page.close();
    }
  });

  test("fits a narrow window, light and dark", async () => {
    for (const path of ["", `runs/${NEW}`, `compare/${OLD}/${NEW}`]) {
      const { page, wrong } = await open(path, { width: 400, dark: true });
      expect(await page.evaluate(() => document.documentElement.scrollWidth), path).toBe(400);
      expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), path).toBe("rgb(23, 27, 33)");
      await page.locator(".theme").click();
      expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), path).toBe("rgb(255, 255, 255)");
      expect(wrong, path).toEqual([]);
      await page.close();
    }
  });
});
