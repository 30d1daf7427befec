// Flame graphs in a browser: of a run's functions, and of the functions that moved between two engines. A function's
// name may be anything, and must remain text.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, createOpener, scrollThrough, startBrowser } from "./browser";
import { writeReport, recordsDir, PROGRAM, writeRecord, type Bend } from "./records";

const EVIL = "<img src=x onerror=alert(1)>";
const FUNCTIONS = ["clone3", "kvdyno_worker::hot::closed_loop", "db_get", "db_search", "memcmp", EVIL];
/** Call paths: the caller's index, and the function's. */
const PATHS = [[null, 0], [0, 1], [1, 2], [2, 3], [3, 4], [2, 5]];

/** A profile of each engine's measured phases; RocksDB searches longer. */
const PROFILED: Bend = {
  case: (planned) => { planned["profile"] = true; },
  files: {
    "profile.json": (_, planned) => (planned["threads"] == null ? null : JSON.stringify({
      rate_hz: 99, kernel: true, paths: PATHS,
      functions: FUNCTIONS.map((name) => ({ name, module: name === "memcmp" ? "libc.so.6" : `lib${planned["engine"]}.so` })),
      phases: [{ phase: "measure", lost: 0, threads: [
        { name: "readers", owner: "role", samples: planned["engine"] === "rocksdb" ? 1300 : 1000, cut: 0, stacks: [[1, 100], [3, planned["engine"] === "rocksdb" ? 800 : 500], [4, 300], [5, 100]] },
        { name: "flush", owner: "engine", samples: 10, cut: 0, stacks: [[0, 10]] },
      ] }],
    })),
  },
};

const browser = startBrowser();
const open = createOpener(browser);
let report = "", change = "";

describe.skipIf(!hasBrowser)("a flame graph", () => {
  beforeAll(async () => {
    const run = writeRecord(join(recordsDir(), "profiled"), PROFILED);
    report = writeReport("profiled", run);
    change = join(recordsDir(), "change.html");
    const result = spawnSync(PROGRAM, ["compare", run, "--engines", "lmdb,rocksdb", "--html", change], { encoding: "utf8" });
    if (result.status === null || ![0, 4].includes(result.status)) throw new Error(`${PROGRAM}: ${result.error ?? result.stderr}`);
  });

  test("is as wide as shares are, and zooms by mouse and keyboard", async () => {
    const { page, errors } = await open(report);
    await scrollThrough(page);
    const at = ".figure[data-figure='flame']", first = page.locator(at).first();
    const widths = new Map(await first.locator(".call").evaluateAll((all) => all.map((one) => [one.textContent, Math.round(one.getBoundingClientRect().width)] as const)));
    const whole = widths.get("all") ?? 0;
    expect(whole).toBeGreaterThan(600);
    expect((widths.get("db_search") ?? 0) / whole).toBeCloseTo(0.8, 2);
    expect((widths.get("memcmp") ?? 0) / whole).toBeCloseTo(0.3, 2);
    // A name is text.
    expect(await first.locator(".call", { hasText: "onerror" }).count()).toBe(1);
    await first.locator(".call", { hasText: "db_search" }).click();
    const zoomed = await first.locator(".call", { hasText: "db_search" }).boundingBox();
    expect(zoomed!.width / whole).toBeCloseTo(1, 2);
    await page.keyboard.press("ArrowDown");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("memcmp");
    expect(await first.getByRole("status").textContent()).toContain("memcmp: 30.0 %");
    await page.keyboard.press("Escape");
    expect(await first.locator(".call").first().textContent()).toBe("all");
    await first.getByRole("searchbox").fill("SEARCH");
    expect(await first.locator(".hit").allTextContents()).toEqual(["db_search"]);
    expect(await first.textContent()).toContain("80.0 % in 1 calls");
    expect(errors).toEqual([]);
  });

  test("has the engine's own threads, a table, and its colours in the dark", async () => {
    const { page, errors } = await open(report, { dark: true });
    await scrollThrough(page);
    const first = page.locator(".figure[data-figure='flame']").first();
    await first.locator("details", { hasText: "Table" }).locator("summary").click();
    expect(await first.locator("tbody tr").first().textContent()).toContain("db_search");
    await first.locator(".controls select").last().selectOption({ label: "engine's own threads: flush" });
    expect(await first.locator(".call").allTextContents()).toEqual(["all", "clone3"]);
    const colour = await first.locator(".call").first().evaluate((one) => getComputedStyle(one).color);
    expect(colour).toBe("rgb(228, 232, 236)");
    expect(errors).toEqual([]);
  });

  test("of a comparison says what moved, first of all what moved most", async () => {
    const { page, errors } = await open(change);
    const functions = page.locator("#functions");
    expect(await functions.locator("tbody tr").first().textContent()).toContain("db_search");
    const label = await functions.locator(".call", { hasText: "db_search" }).getAttribute("aria-label");
    expect(label).toContain("points");
    await page.getByRole("button", { name: "dark" }).click();
    expect(await functions.locator(".call").count()).toBeGreaterThan(3);
    expect(errors).toEqual([]);
  });
});
