// The mix of operations that a phase came to. With several roles the plan does not determine it: a fast
// writer next to readers makes most operations writes. Costs over the operations of all roles are then
// costs of different work.

import { findMetric, unique, type Case } from "../model";

/** The largest difference of shares between mixes that are comparable. */
export const MIX_DIFFERENCE_MAX = 0.1;

/** Returns each operation's share of all operations; null: not known, or determined by the plan. */
export function caseMix(one: Case): Map<string, number> | null {
  const roles = one.run?.roles ?? [];
  if (roles.length < 2) return null;
  const counts = new Map<string, number>();
  for (const role of roles) {
    const parts = role.ops.length > 0 ? role.ops : [{ op: role.mix, metrics: role.metrics }];
    for (const { op, metrics } of parts) {
      const count = findMetric(metrics, "operations")?.value ?? 0;
      counts.set(op, (counts.get(op) ?? 0) + count);
    }
  }
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return all > 0 ? new Map([...counts].map(([op, count]) => [op, count / all])) : null;
}

/** Returns the largest difference of an operation's share between engines with the same number of threads. */
export function mixDifference(cases: Case[]): number {
  const differences = unique(cases.map((one) => one.threads)).flatMap((threads) => {
    const peers = cases.filter((one) => one.threads === threads && !one.engine.loadGenerator);
    const mixes = peers.flatMap((one) => caseMix(one) ?? []);
    return unique(mixes.flatMap((mix) => [...mix.keys()])).map((op) => {
      const shares = mixes.map((mix) => mix.get(op) ?? 0);
      return Math.max(...shares) - Math.min(...shares);
    });
  });
  return Math.max(0, ...differences);
}

/** Returns why costs over the operations of all roles are not comparable; null: they are. The reason is the
 * program's; without one the same rule is applied here. */
export function incomparableReason(cases: Case[]): string | null {
  const reason = cases.flatMap((one) => (one.engine.loadGenerator ? [] : one.run?.different_mix ?? []))[0];
  if (reason) return reason;
  return mixDifference(cases) > MIX_DIFFERENCE_MAX ? `per operation of different mixes: ${formatMixes(cases.filter((one) => !one.engine.loadGenerator))}` : null;
}

/** Returns `LMDB 44 % update, 56 % get; RocksDB 84 % update, 16 % get`; empty: determined by the plan. */
export function formatMixes(cases: Case[]): string {
  const words = cases.flatMap((one) => {
    const mix = caseMix(one);
    if (!mix || mix.size < 2) return [];
    const shares = [...mix].map(([op, share]) => `${formatPercent(share)} ${op}`);
    return [`${one.engine.name} ${shares.join(", ")}`];
  });
  return words.join("; ");
}

const formatPercent = (share: number): string => `${Math.round(100 * share)} %`;
