// The pages of a trace, a history and a fleet, in a browser: all is drawn, nothing is cut off, nothing is fetched.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, type Opened, opener, outside, startBrowser } from "./browser";
import { place, PROGRAM, record } from "./records";

const browser = startBrowser();
const open = opener(browser);
const pages: Record<"trace" | "history" | "fleet", string> = { trace: "", history: "", fleet: "" };

function kvdyno(...args: string[]): void {
  const done = spawnSync(PROGRAM, args, { encoding: "utf8", cwd: place() });
  if (done.status !== 0) throw new Error(`${PROGRAM} ${args.join(" ")}: ${done.error ?? done.stderr}`);
}

/** A cache's requests over a minute: few keys get most of them, and new ones come all the time. */
function trace(): string {
  const lines = Array.from({ length: 30_000 }, (_, n) => {
    const key = n % 3 === 0 ? `new${n}` : `hot${(n * n) % 97}`;
    return `${Math.floor(n / 500)},${key},${key.length},${n % 5 === 0 ? 100 + (n % 900) : 0},${n % 4},${n % 5 === 0 ? "set" : "get"},0\n`;
  });
  writeFileSync(join(place(), "cache.csv"), lines.join(""));
  kvdyno("trace", "import", "--format", "twitter", "cache.csv", "-o", "cache.kvtrace");
  kvdyno("trace", "show", "cache.kvtrace", "--html", "trace.html");
  return join(place(), "trace.html");
}

/** Sums of a bent record's files, as if it had been measured so. */
function sealed(run: string): string {
  const sums = join(run, "SHA256SUMS");
  const files = readFileSync(sums, "utf8").split("\n").map((line) => line.slice(66)).filter((file) => file !== "");
  const sum = (file: string) => createHash("sha256").update(readFileSync(join(run, file))).digest("hex");
  writeFileSync(sums, files.map((file) => `${sum(file)}  ${file}\n`).join(""));
  return run;
}

/** The same suite ten times, on as many days and hosts. */
function runs(): string[] {
  return Array.from({ length: 10 }, (_, at) => sealed(record(join(place(), `run${at}`), {
    run: (run) => {
      run["id"] = `2026-11-${10 + at}T10-15-02Z_fixture_000${at}`;
      run["started_unix_ns"] += at * 864e11;
      for (const host of [run["host_before"], run["host_after"]]) host["hostname"] = `bench-${at + 1}`;
    },
  })));
}

beforeAll(async () => {
  if (!hasBrowser) return;
  pages.trace = trace();
  const all = runs();
  for (const run of all) kvdyno("history", "add", "history.ndjson", run);
  kvdyno("history", "show", "history.ndjson", "--html", "history.html");
  kvdyno("show", ...all, "--by", "host", "--html", "fleet.html");
  pages.history = join(place(), "history.html");
  pages.fleet = join(place(), "fleet.html");
});

/** Nothing went wrong, and nothing is wider than the window. */
async function sound({ page, wrong }: Opened): Promise<void> {
  expect(wrong).toEqual([]);
  expect(await outside(page)).toEqual([]);
  // Words of axes stand beside their pictures, and in the window.
  expect(await page.$$eval(".plotted text", (texts) => texts.filter((text) => {
    const { left, right } = text.getBoundingClientRect();
    return left < 0 || right > document.documentElement.clientWidth;
  }).map((text) => text.textContent))).toEqual([]);
  expect(await page.locator("[role=alert]").count()).toBe(0);
}

describe.skipIf(!hasBrowser)("a page", () => {
  for (const name of ["trace", "history", "fleet"] as const) {
    test(`of a ${name} is whole in light and dark, on a wide screen and a narrow one`, async () => {
      for (const looks of [{ width: 1200, dark: false }, { width: 480, dark: true }]) {
        const opened = await open(pages[name], looks);
        await sound(opened);
        const { page } = opened;
        expect(await page.locator(".kicker").textContent()).toBe(`kvdyno · ${name}`);
        expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe(looks.dark ? "dark" : "light");
        const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#raw button").click()]);
        expect(download.suggestedFilename()).toBe(`${name}.json`);
        await page.close();
      }
    });
  }

  test("of a trace has each of its figures with the numbers behind it, and keeps its shade", async () => {
    const { page, wrong } = await open(pages.trace);
    expect(await page.locator("h2").allTextContents()).toEqual(["What was asked for", "Sizes", "Popularity and reuse", "Over time", "How it was found", "Raw data"]);
    expect(await page.locator("#mix tbody th").allTextContents()).toEqual(["get", "put"]);
    expect(await page.locator("#popular polyline").count()).toBe(2);
    expect(await page.locator("[data-figure=working-set] rect.bar").count()).toBe(2 * 48);
    expect(await page.locator("[data-figure=working-set] tbody tr").count()).toBe(48);
    expect(await page.locator("#sizes .range").count()).toBe(2);
    // A third of what is asked for in each stretch is new: what is drawn of it is lower than the whole.
    const [whole, part] = await page.$$eval("[data-figure=working-set] rect.bar", (bars) => [0, 1].map((at) => Number(bars[bars.length - 2 + at]?.getAttribute("height"))));
    expect(part).toBeGreaterThan(0);
    expect(part).toBeLessThan(whole ?? 0);
    const shade = await page.evaluate(() => document.documentElement.dataset["theme"]);
    await page.locator("button.theme").click();
    await page.reload();
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).not.toBe(shade);
    expect(wrong).toEqual([]);
  });

  test("of a history has a plot for each figure, and one chosen case leaves its own", async () => {
    const { page, wrong } = await open(pages.history);
    expect(await page.locator("h1").textContent()).toContain("10 runs");
    const all = await page.locator(".course").count();
    expect(all).toBeGreaterThan(4);
    expect(await page.locator(".course").first().locator("circle").count()).toBe(10);
    await page.locator(".filterbar button").first().click();
    expect(await page.locator(".course").count()).toBeLessThan(all);
    expect(wrong).toEqual([]);
  });

  test("of a fleet has a dot for each host", async () => {
    const { page, wrong } = await open(pages.fleet);
    expect(await page.locator("h1").textContent()).toContain("10 hosts");
    expect(await page.locator("#figures tbody tr:not(.pair)").first().locator("circle, path").count()).toBeGreaterThanOrEqual(10);
    expect(wrong).toEqual([]);
  });
});
