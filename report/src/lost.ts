// What an engine loses when the power goes, in words: as the program says it.

import type { Lost } from "./ranked";

/** With nothing found in n tries, the truth is below 3 of n, 95 times of a hundred. */
const RULE_OF_THREE = 3;

/** `lost 0 of 300 (< 1 %)`, `lost 12 of 300 (4 %), corrupt 3`. */
export function lostWords({ states, lost, corrupt }: Lost): string {
  const share = (100 * (lost === 0 ? RULE_OF_THREE : lost)) / Math.max(1, states);
  return `lost ${lost} of ${states} (${lost === 0 ? "< " : ""}${Number(share.toFixed(1))} %)${corrupt > 0 ? `, corrupt ${corrupt}` : ""}`;
}
