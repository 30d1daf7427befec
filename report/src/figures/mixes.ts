// What operations a measured phase came to be made of. With several roles that is not the plan's
// doing: a fast writer beside readers makes most operations writes. Costs over the operations of
// all roles are then costs of different work.

import { metricOf, unique, type Case } from "../model";

/** Mixes that differ by more are different work. */
export const MIX_DIFFERENCE_MAX = 0.1;

/** Each operation's share of all that were done; null: not known, or the plan alone decides it. */
export function mixOf(one: Case): Map<string, number> | null {
  const roles = one.run?.roles ?? [];
  if (roles.length < 2) return null;
  const counts = new Map<string, number>();
  for (const role of roles) {
    const parts = role.ops.length > 0 ? role.ops : [{ op: role.mix, metrics: role.metrics }];
    for (const { op, metrics } of parts) {
      const count = metricOf(metrics, "operations")?.value ?? 0;
      counts.set(op, (counts.get(op) ?? 0) + count);
    }
  }
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return all > 0 ? new Map([...counts].map(([op, count]) => [op, count / all])) : null;
}

/** How far engines with the same number of threads differ, at the operation that differs most. */
export function mixDifference(cases: Case[]): number {
  const differences = unique(cases.map((one) => one.threads)).flatMap((threads) => {
    const peers = cases.filter((one) => one.threads === threads && !one.engine.loadGenerator);
    const mixes = peers.flatMap((one) => mixOf(one) ?? []);
    return unique(mixes.flatMap((mix) => [...mix.keys()])).map((op) => {
      const shares = mixes.map((mix) => mix.get(op) ?? 0);
      return Math.max(...shares) - Math.min(...shares);
    });
  });
  return Math.max(0, ...differences);
}

/** Why costs over the operations of all roles are not to be held against each other; null: they may.
 * As the program says it; where it says nothing, by the same rule. */
export function apartOf(cases: Case[]): string | null {
  const told = cases.flatMap((one) => (one.engine.loadGenerator ? [] : one.run?.different_mix ?? []))[0];
  if (told) return told;
  return mixDifference(cases) > MIX_DIFFERENCE_MAX ? `per operation of different mixes: ${mixWords(cases.filter((one) => !one.engine.loadGenerator))}` : null;
}

/** `LMDB 44 % update, 56 % get; RocksDB 84 % update, 16 % get`; empty: the plan decides it. */
export function mixWords(cases: Case[]): string {
  const words = cases.flatMap((one) => {
    const mix = mixOf(one);
    if (!mix || mix.size < 2) return [];
    const shares = [...mix].map(([op, share]) => `${percent(share)} ${op}`);
    return [`${one.engine.name} ${shares.join(", ")}`];
  });
  return words.join("; ");
}

const percent = (share: number): string => `${Math.round(100 * share)} %`;
