// The pages of `kvdyno serve` in a real browser: the list, a running run, a comparison.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { VersusData, VersusRow } from "../src/data";
import { hasBrowser, startBrowser } from "./browser";
import { editJson, EVIL, HOSTILE, recordsDir, PROGRAM, writeRecord, addTrials } from "./records";

let RUNS: string;
const OLD = "2026-11-20T10-15-02Z_fixture_7f3a", NEW = "2026-11-21T10-15-02Z_fixture_0001", BAD = "2026-11-19T10-15-02Z_evil<b>_0002";
const browser = startBrowser();
let server: ChildProcess;
let base = "";

interface Opened {
  page: Page;
  errors: string[];
}

async function openPage(path: string, { width = 1280, dark = false } = {}): Promise<Opened> {
  const page = await browser().newPage({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light" });
  const errors: string[] = [];
  // A violation of the page's policy is also an error on the console.
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("dialog", (dialog) => { errors.push(`dialog ${dialog.message()}`); void dialog.dismiss(); });
  page.on("request", (request) => /^(data|blob):/.test(request.url()) || request.url().startsWith(base) || errors.push(`request ${request.url()}`));
  await page.goto(base + path);
  await page.waitForSelector("h1");
  return { page, errors };
}

const runCheckbox = (page: Page, name: string) => page.locator(`input[data-run="${name}"]`);

const bendId = (name: string) => ({ run: (run: Record<string, unknown>) => { run["id"] = name; } });

describe.skipIf(!hasBrowser)("the server", () => {
  beforeAll(async () => {
    RUNS = join(recordsDir(), "runs");
    mkdirSync(RUNS);
    addTrials(writeRecord(join(RUNS, OLD)), 1);
    addTrials(writeRecord(join(RUNS, NEW), bendId(NEW)), 1.5);
    writeRecord(join(RUNS, BAD), { ...EVIL, run: (run) => { EVIL.run?.(run); run["id"] = HOSTILE; } });
    server = spawn(PROGRAM, ["serve", "--port", "0", "--runs", RUNS], { stdio: ["ignore", "pipe", "inherit"] });
    base = await new Promise<string>((resolve, reject) => {
      server.stdout?.on("data", (text: Buffer) => resolve(text.toString().trim()));
      server.on("exit", (code) => reject(new Error(`${PROGRAM} serve ended with ${code}`)));
    });
  });

  afterAll(async () => {
    server?.removeAllListeners("exit");
    server?.kill("SIGINT");
  });

  test("lists the runs, the newest first, and compares two of them", async () => {
    const { page, errors } = await openPage("");
    expect(await page.$$eval(".runs tbody tr", (rows) => rows.map((row) => (row as HTMLElement).dataset["name"]))).toEqual([NEW, OLD, BAD]);
    // Rows show data and engines; a run with undone cases is not complete.
    const row = page.locator(`tr[data-name="${OLD}"]`);
    expect(await row.locator(".run").textContent()).toContain("1.00 M × 116 B = 111 MiB, RAM limit");
    expect(await row.locator(".engines").textContent()).toBe("LMDB, RocksDB");
    expect(await row.locator(".state").last().textContent()).toMatch(/^ended: \d+ not done$/);
    expect(await page.locator(".go").count()).toBe(0);
    await runCheckbox(page, NEW).focus();
    await page.keyboard.press("Space");
    expect(await page.evaluate(() => (document.activeElement as HTMLElement).dataset["run"])).toBe(NEW);
    await runCheckbox(page, OLD).check();
    await page.reload();
    await expect.poll(() => page.locator("input:checked").count()).toBe(2);
    // The older run is the base, whichever was chosen first.
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
    expect(errors).toEqual([]);
  });

  test("shows every figure of a comparison with its verdict", async () => {
    const { page, errors } = await openPage(`compare/${OLD}/${NEW}`);
    const data = await (await page.request.get(`${base}compare/${OLD}/${NEW}.json`)).json() as VersusData;
    const rows = data.versus?.pairs.flatMap((pair) => pair.rows) ?? [];
    const shownVerdicts = () => page.$$eval(".pairs tr[data-verdict]", (list) => list.map((row) => (row as HTMLElement).dataset["verdict"]));
    expect(await shownVerdicts()).toEqual(rows.map((row) => row.verdict));
    // With one run per side there are ratios and no verdicts.
    expect(await shownVerdicts()).toContain("too_few");
    // The sections in order: differences come after the figures.
    expect(await page.locator("h2").allTextContents()).toEqual(["Figures", "Left out", "How sure this is", "What differs", "Raw data"]);
    expect(await page.locator(".pairs tr[data-verdict='too_few'] .verdict").first().textContent()).toContain("too few");
    expect(await page.locator(".sentence").allTextContents()).toEqual(data.versus?.answer);
    const isSlower = (row: VersusRow) => row.verdict === "too_few" && (row.ratio ?? 1) < 1;
    const [at, row] = [rows.findIndex(isSlower), rows.find(isSlower)];
    const line = page.locator(".pairs tr[data-verdict]").nth(at);
    expect(await line.locator(".ratio").textContent()).toBe(row?.ratio?.toFixed(3));
    // The marker is left of 1.
    const place = await line.locator("svg.forest").evaluate((picture) => {
      const centreX = (element: Element) => { const box = element.getBoundingClientRect(); return box.x + box.width / 2; };
      return { one: centreX(picture.querySelector(".one")!), point: centreX(picture.querySelector(".point")!) };
    });
    expect(place.point).toBeLessThan(place.one);

    await page.locator("[data-filter='described']").click();
    expect(new URL(page.url()).hash).not.toBe("");
    await page.reload();
    await page.waitForSelector(".pairs");
    expect(await shownVerdicts()).not.toContain("described");
    await page.getByRole("link", { name: "All figures" }).click();
    await page.waitForSelector(".pairs");
    expect((await shownVerdicts()).length).toBeGreaterThan(rows.length);
    expect(errors).toEqual([]);
  });

  test("says why two runs cannot be compared", async () => {
    const { page, errors } = await openPage(`compare/${OLD}/${OLD}`);
    expect(await page.locator(".refused").textContent()).toContain(OLD);
    expect(errors).toEqual([]);
  });

  test("follows a run at work, and becomes its report", async () => {
    const name = "2026-11-22T10-15-02Z_fixture_0003", run = writeRecord(join(RUNS, name), bendId(name));
    rmSync(join(run, "complete"));
    editJson(join(run, "run.json"), (json) => { json["ended_unix_ns"] = null; });
    const last = join(run, "cases/0018_null_t2_r2"), before = join(run, "cases/0017_null_t1_r2"), aside = join(recordsDir(), "aside");
    rmSync(last, { recursive: true });
    renameSync(join(before, "case.json"), aside);
    // Locks the run's directory, like the running program.
    const lock = spawn("flock", [run, "sleep", "600"], { stdio: "ignore", detached: true });
    try {
      const list = await openPage("");
      await list.page.locator(`tr[data-name="${name}"][data-state="running"]`).waitFor();
      const { page, errors } = await openPage(`runs/${name}`);
      await page.locator(".live .stand", { hasText: "16 of 18 cases" }).waitFor();
      expect(await page.locator(".kicker").textContent()).toContain("running: 16 of 18 cases");
      expect(await page.locator(".live .case").textContent()).toContain("0017_null_t1_r2");
      expect(await page.locator(".live .gauge").count()).toBeGreaterThan(0);
      await page.evaluate(() => { (window as unknown as Record<string, boolean>)["same"] = true; });
      renameSync(aside, join(before, "case.json"));
      await page.locator(".live .stand", { hasText: "17 of 18 cases" }).waitFor();
      writeFileSync(join(run, "complete"), "");
      await page.locator(".live").waitFor({ state: "detached" });
      expect(await page.locator(".kicker").textContent()).toContain("of 18 cases done");
      expect(await page.evaluate(() => "same" in window)).toBe(true);
      await list.page.locator(`tr[data-name="${name}"][data-state="complete"]`).waitFor();
      expect([...errors, ...list.errors]).toEqual([]);
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
      const { page, errors } = await openPage(path);
      await page.waitForTimeout(300);
      expect(await page.evaluate(() => "hit" in window), path).toBe(false);
      expect(await page.locator("img, iframe, object, embed, main b").count(), path).toBe(0);
      expect(await page.locator("script").count(), path).toBe(2);
      expect(errors, path).toEqual([]);
      await page.close();
    }
  });

  test("fits a narrow window, light and dark", async () => {
    for (const path of ["", `runs/${NEW}`, `compare/${OLD}/${NEW}`]) {
      const { page, errors } = await openPage(path, { width: 400, dark: true });
      expect(await page.evaluate(() => document.documentElement.scrollWidth), path).toBe(400);
      expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), path).toBe("rgb(23, 27, 33)");
      await page.locator(".theme").click();
      expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), path).toBe("rgb(255, 255, 255)");
      expect(errors, path).toEqual([]);
      await page.close();
    }
  });
});
