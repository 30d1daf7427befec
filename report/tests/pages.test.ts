// The pages of a trace, a history and a fleet in a browser: all is drawn, nothing is cut off, nothing is fetched.

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, type Opened, createOpener, findOverflow, startBrowser } from "./browser";
import { recordsDir, PROGRAM, writeRecord } from "./records";

const browser = startBrowser();
const open = createOpener(browser);
const pages: Record<"trace" | "history" | "fleet", string> = { trace: "", history: "", fleet: "" };

function runKvdyno(...args: string[]): void {
  const result = spawnSync(PROGRAM, args, { encoding: "utf8", cwd: recordsDir() });
  if (result.status !== 0) throw new Error(`${PROGRAM} ${args.join(" ")}: ${result.error ?? result.stderr}`);
}

/** Writes the page of a trace: a cache's requests over a minute, most of them of few keys, with new keys all the time. */
function writeTracePage(): string {
  const lines = Array.from({ length: 30_000 }, (_, n) => {
    const key = n % 3 === 0 ? `new${n}` : `hot${(n * n) % 97}`;
    return `${Math.floor(n / 500)},${key},${key.length},${n % 5 === 0 ? 100 + (n % 900) : 0},${n % 4},${n % 5 === 0 ? "set" : "get"},0\n`;
  });
  writeFileSync(join(recordsDir(), "cache.csv"), lines.join(""));
  runKvdyno("trace", "import", "--format", "twitter", "cache.csv", "-o", "cache.kvtrace");
  runKvdyno("trace", "show", "cache.kvtrace", "--html", "trace.html");
  return join(recordsDir(), "trace.html");
}

/** Writes ten runs of the same suite, on ten days and hosts. */
function writeRuns(): string[] {
  return Array.from({ length: 10 }, (_, at) => writeRecord(join(recordsDir(), `run${at}`), {
    run: (run) => {
      run["id"] = `2026-11-${10 + at}T10-15-02Z_fixture_000${at}`;
      run["started_unix_ns"] += at * 864e11;
      for (const host of [run["host_before"], run["host_after"]]) host["hostname"] = `bench-${at + 1}`;
    },
  }));
}

beforeAll(async () => {
  if (!hasBrowser) return;
  pages.trace = writeTracePage();
  const all = writeRuns();
  for (const run of all) runKvdyno("history", "add", "history.ndjson", run);
  runKvdyno("history", "show", "history.ndjson", "--html", "history.html");
  runKvdyno("show", ...all, "--by", "host", "--html", "fleet.html");
  pages.history = join(recordsDir(), "history.html");
  pages.fleet = join(recordsDir(), "fleet.html");
});

/** Expects no errors, and nothing wider than the window. */
async function expectSound({ page, errors }: Opened): Promise<void> {
  expect(errors).toEqual([]);
  expect(await findOverflow(page)).toEqual([]);
  // Labels of axes are next to their pictures, inside the window.
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
        await expectSound(opened);
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
    const { page, errors } = await open(pages.trace);
    expect(await page.locator("h2").allTextContents()).toEqual(["What was asked for", "Sizes", "Popularity and reuse", "Over time", "How it was found", "Raw data"]);
    expect(await page.locator("#mix tbody th").allTextContents()).toEqual(["get", "put"]);
    expect(await page.locator("#popular polyline").count()).toBe(2);
    expect(await page.locator("[data-figure=working-set] rect.bar").count()).toBe(2 * 48);
    expect(await page.locator("[data-figure=working-set] tbody tr").count()).toBe(48);
    expect(await page.locator("#sizes .range").count()).toBe(2);
    // A third of the keys in each stretch is new: the part of a bar is lower than the whole.
    const [whole, part] = await page.$$eval("[data-figure=working-set] rect.bar", (bars) => [0, 1].map((at) => Number(bars[bars.length - 2 + at]?.getAttribute("height"))));
    expect(part).toBeGreaterThan(0);
    expect(part).toBeLessThan(whole ?? 0);
    const shade = await page.evaluate(() => document.documentElement.dataset["theme"]);
    await page.locator("button.theme").click();
    await page.reload();
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).not.toBe(shade);
    expect(errors).toEqual([]);
  });

  test("of a history has a plot for each figure, and one chosen case leaves its own", async () => {
    const { page, errors } = await open(pages.history);
    expect(await page.locator("h1").textContent()).toContain("10 runs");
    const all = await page.locator(".course").count();
    expect(all).toBeGreaterThan(4);
    expect(await page.locator(".course").first().locator("circle").count()).toBe(10);
    await page.locator(".filterbar button").first().click();
    expect(await page.locator(".course").count()).toBeLessThan(all);
    expect(errors).toEqual([]);
  });

  test("of a fleet has a dot for each host", async () => {
    const { page, errors } = await open(pages.fleet);
    expect(await page.locator("h1").textContent()).toContain("10 hosts");
    expect(await page.locator("#figures tbody tr:not(.pair)").first().locator("circle, path").count()).toBeGreaterThanOrEqual(10);
    expect(errors).toEqual([]);
  });
});
