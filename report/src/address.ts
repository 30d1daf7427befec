// The choice after the `#` of the page's address.

import type { Shade } from "./appearance";

/** Returns the parameters after the `#`. */
export const parseHash = (hash: string): URLSearchParams => new URLSearchParams(hash.replace(/^#/, ""));

/** Returns the shade that the parameters name. */
export function parseShade(parameters: URLSearchParams): Shade | null {
  const shade = parameters.get("theme");
  return shade === "light" || shade === "dark" ? shade : null;
}

/** Returns the parameters with their `#`; empty: there are none. */
export function formatHash(parameters: URLSearchParams): string {
  const text = parameters.toString();
  return text ? `#${text}` : "";
}

/** Puts the hash into the page's address, without an entry in the browser's history. */
export const storeHash = (hash: string): void =>
  history.replaceState(null, "", hash || location.pathname + location.search);
