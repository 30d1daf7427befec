// What tests of pages do in a browser.

import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { remove } from "./records";

const executablePath = process.env["KVDYNO_CHROMIUM"] ?? "/usr/bin/chromium";

export const hasBrowser = executablePath !== "";

/** Starts Chromium before the tests of a file; after them it is ended, and their records are removed. */
export function startBrowser(): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (hasBrowser) browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  });
  afterAll(async () => {
    await browser?.close();
    remove();
  });
  return () => {
    if (!browser) throw new Error(`${executablePath} did not start`);
    return browser;
  };
}

/** A page with what went wrong in it. */
export interface Opened {
  page: Page;
  wrong: string[];
}

export interface Looks {
  hash?: string;
  width?: number;
  dark?: boolean;
  /** What is there when the page is. */
  ready?: string;
}

/** Opens pages in a browser that is there by then. */
export const opener = (browser: () => Browser) => async (path: string, { hash = "", width = 1280, dark = false, ready = "#raw" }: Looks = {}): Promise<Opened> => {
  const page = await browser().newPage({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light", acceptDownloads: true });
  const wrong: string[] = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("dialog", (dialog) => { wrong.push(`dialog ${dialog.message()}`); void dialog.dismiss(); });
  page.on("request", (request) => /^(file|data|blob):/.test(request.url()) || wrong.push(`request ${request.url()}`));
  await page.goto(pathToFileURL(path).href + hash);
  await page.waitForSelector(ready);
  return { page, wrong };
};

/** Goes through the page, as a reader does, until all is drawn. */
export async function scroll(page: Page): Promise<void> {
  const figures = page.locator(".figure");
  for (let at = 0; at < await figures.count(); at += 1) {
    const figure = figures.nth(at);
    await figure.scrollIntoViewIfNeeded();
    await figure.locator("xpath=self::*[@data-drawn]").waitFor({ timeout: 10_000 });
  }
}

/** What stands out of the window, or out of what it is drawn in: nothing should. */
export const outside = (page: Page): Promise<string[]> => page.evaluate(() => {
  const wide = document.documentElement.clientWidth, out: string[] = [];
  if (document.documentElement.scrollWidth > wide) out.push(`the page is ${document.documentElement.scrollWidth} wide`);
  // What is folded away, and the studies' wide table, may be moved from side to side.
  for (const box of document.querySelectorAll<HTMLElement>("#overview .scroll, #figures .scroll")) {
    if (box.closest("details, .load")) continue;
    if (box.scrollWidth > box.clientWidth + 1) out.push(`${box.getAttribute("aria-label")} scrolls: ${box.scrollWidth} in ${box.clientWidth}`);
  }
  for (const picture of document.querySelectorAll(".drawing svg")) {
    const { left, right } = picture.getBoundingClientRect();
    if (right > wide + 1) out.push("a picture is cut off");
    for (const text of picture.querySelectorAll("text")) {
      const place = text.getBoundingClientRect();
      if (place.left < left - 1 || place.right > right + 1) out.push(`${text.textContent} is cut off`);
    }
  }
  return out;
});

/** Which figures there are, each once, in the order of the page. */
export const names = (page: Page): Promise<string[]> => page.$$eval(".figure", (figures) =>
  [...new Set(figures.map((figure) => (figure as HTMLElement).dataset["figure"] ?? ""))]);
