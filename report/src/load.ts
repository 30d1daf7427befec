// Reads the data out of the page: base64, gzip, JSON.

import type { PageData, RunsData, VersusData } from "./data";
import type { FleetData } from "./fleets";
import type { TraceData } from "./traces";
import type { TrendData } from "./trends";

export type Page = PageData | RunsData | VersusData | TrendData | FleetData | TraceData;

export async function unpack(base64: string): Promise<string> {
  const text = atob(base64.trim());
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

/** Loads the page's data: the JSON text for the download, and the parsed data. */
export async function loadPage(element: HTMLElement | null): Promise<{ json: string; data: Page }> {
  const json = await unpack(element?.textContent ?? "");
  return { json, data: JSON.parse(json) as Page };
}
