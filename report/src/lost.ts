// What an engine loses when the power goes, in words: as the program says it.

import type { Lost } from "./ranked";

/** With nothing found in n tries, the truth is below 3 of n, 95 times of a hundred. */
const RULE_OF_THREE = 3;

/** `lost 0 of 300 (< 1 %)`, `lost 12 of 300 (4 %), corrupt 3`; of what is corrupt nobody sees what it lost. */
export function lostWords({ states, lost, corrupt }: Lost): string {
  const percent = (n: number): string => `${Number(((100 * n) / Math.max(1, states)).toFixed(1))} %`;
  const bound = lost + corrupt === 0 && states > RULE_OF_THREE ? ` (< ${percent(RULE_OF_THREE)})` : "";
  return `lost ${lost} of ${states}${lost > 0 ? ` (${percent(lost)})` : bound}${corrupt > 0 ? `, corrupt ${corrupt}` : ""}`;
}
