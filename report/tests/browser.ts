// Helpers of tests that open pages in a browser.

import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { removeRecords } from "./records";

const executablePath = process.env["KVDYNO_CHROMIUM"] ?? "/usr/bin/chromium";

export const hasBrowser = executablePath !== "";

/** Starts Chromium before the tests of a file; after them, stops it and removes their records. */
export function startBrowser(): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (hasBrowser) browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  });
  afterAll(async () => {
    await browser?.close();
    removeRecords();
  });
  return () => {
    if (!browser) throw new Error(`${executablePath} did not start`);
    return browser;
  };
}

/** An open page, with its errors. */
export interface Opened {
  page: Page;
  errors: string[];
}

export interface Looks {
  hash?: string;
  width?: number;
  dark?: boolean;
  /** The selector of an element that exists when the page is ready. */
  ready?: string;
}

/** Creates a function that opens pages in the browser, which starts later. */
export const createOpener = (browser: () => Browser) => async (path: string, { hash = "", width = 1280, dark = false, ready = "#raw" }: Looks = {}): Promise<Opened> => {
  const page = await browser().newPage({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light", acceptDownloads: true });
  const errors: string[] = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("dialog", (dialog) => { errors.push(`dialog ${dialog.message()}`); void dialog.dismiss(); });
  page.on("request", (request) => /^(file|data|blob):/.test(request.url()) || errors.push(`request ${request.url()}`));
  await page.goto(pathToFileURL(path).href + hash);
  await page.waitForSelector(ready);
  return { page, errors };
};

/** Scrolls through the page until all figures are drawn. */
export async function scrollThrough(page: Page): Promise<void> {
  const figures = page.locator(".figure");
  for (let at = 0; at < await figures.count(); at += 1) {
    const figure = figures.nth(at);
    await figure.scrollIntoViewIfNeeded();
    await figure.locator("xpath=self::*[@data-drawn]").waitFor({ timeout: 10_000 });
  }
}

/** Finds elements outside of the window or of their picture; there should be none. */
export const findOverflow = (page: Page): Promise<string[]> => page.evaluate(() => {
  const wide = document.documentElement.clientWidth, out: string[] = [];
  if (document.documentElement.scrollWidth > wide) out.push(`the page is ${document.documentElement.scrollWidth} wide`);
  // Folded elements and the studies' wide table may scroll sideways.
  for (const box of document.querySelectorAll<HTMLElement>("#overview .scroll, #figures .scroll")) {
    if (box.closest("details, .load")) continue;
    if (box.scrollWidth > box.clientWidth + 1) out.push(`${box.getAttribute("aria-label")} scrolls: ${box.scrollWidth} in ${box.clientWidth}`);
  }
  for (const picture of document.querySelectorAll(".drawing svg")) {
    const { left, right } = picture.getBoundingClientRect();
    if (right > wide + 1) out.push("a picture is cut off");
    for (const text of picture.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.left < left - 1 || box.right > right + 1) out.push(`${text.textContent} is cut off`);
    }
  }
  return out;
});

/** Returns the names of the page's figures, each once, in the order of the page. */
export const figureNames = (page: Page): Promise<string[]> => page.$$eval(".figure", (figures) =>
  [...new Set(figures.map((figure) => (figure as HTMLElement).dataset["figure"] ?? ""))]);
