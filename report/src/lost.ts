// An engine's losses after a power failure, as text, like the program's.

import type { Lost } from "./ranked";

/** Without a loss in n tries, the true share is below 3 of n, with 95 % confidence. */
const RULE_OF_THREE = 3;

/** Returns `lost 0 of 300 (< 1 %)`, `lost 12 of 300 (4 %), corrupt 3`; losses of a corrupt state are unknown. */
export function formatLosses({ states, lost, corrupt }: Lost): string {
  const formatPercent = (n: number): string => `${Number(((100 * n) / Math.max(1, states)).toFixed(1))} %`;
  const bound = lost + corrupt === 0 && states > RULE_OF_THREE ? ` (< ${formatPercent(RULE_OF_THREE)})` : "";
  return `lost ${lost} of ${states}${lost > 0 ? ` (${formatPercent(lost)})` : bound}${corrupt > 0 ? `, corrupt ${corrupt}` : ""}`;
}
