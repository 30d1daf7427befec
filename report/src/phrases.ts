// Labels of figures in rows and above charts: "Updates/s with 1 reader", "get p99".

import { roleOps, unique, type Case } from "./model";
import type { View } from "./view";

const NOUNS: Record<string, string> = {
  get: "Reads", update: "Updates", insert: "Inserts", delete: "Deletes", scan: "Range scans", multiget: "Multigets",
  rmw: "Read-modify-writes", batch: "Batches",
};

/** Returns `Reads/s` for a role with one kind of operation that no other has, else `Ops/s`, with the role's name if
 * there are several. */
export function rateLabel(view: View, role: string): string {
  const findNoun = (name: string) => {
    const mixes = unique(view.cases.flatMap((one) => (one.run?.roles ?? []).filter((row) => row.role === name).map((row) => row.mix)));
    const [mix] = mixes;
    return mixes.length === 1 && mix ? NOUNS[mix] : undefined;
  };
  const noun = findNoun(role), others = view.work.roles.filter((other) => other !== role);
  if (noun) return others.some((other) => findNoun(other) === noun) ? `${role}: ${noun.toLowerCase()}/s` : `${noun}/s`;
  return others.length > 0 ? `${role}: ops/s` : "Ops/s";
}

/** Returns which rates are bursts and which figures are void, as sentences; empty: none. */
export function flawNote(view: View): string {
  const isSeveral = view.work.roles.length > 1;
  const cases = view.cases.filter((one) => !one.engine.loadGenerator);
  const bursts = unique(cases.flatMap(({ engine, run }) => (run?.roles ?? [])
    .filter((row) => row.validity?.word === "burst").map((row) => (isSeveral ? `${row.role} of ${engine.name}` : engine.name))));
  const voids = unique(cases.flatMap(({ engine, group }) => (group.void == null ? [] : [`${engine.name} (${group.void})`])));
  return (bursts.length > 0 ? ` Burst, a rate that does not last: ${bursts.join(", ")}.` : "") + (voids.length > 0 ? ` Void: ${voids.join(", ")}.` : "");
}

/** Returns `p99`, `get p99` or `p99 of readers`. */
export function tailLabel(view: View, role: string, tailName: string, op: string | null): string {
  const words = op == null ? tailName : `${op} ${tailName}`;
  return view.work.roles.length > 1 ? `${words} of ${role}` : words;
}

/** Returns a note that a role's operations are not shown separately; empty: the role has one operation. */
export const pooledOpsNote = (cases: Case[], role: string): string => (roleOps(cases, role).length > 1 ? `, ${roleOps(cases, role).join(" and ")} together` : "");

/** Returns `1 reader` or `4 readers`. */
export function formatRoleCount(role: string, count: number): string {
  const one = role.endsWith("s") ? role.slice(0, -1) : role;
  return `${count} ${count === 1 ? one : `${one}s`}`;
}

/** Returns the threads of the first role, which is swept: `, 4 threads`, or ` with 4 readers` for another role. */
export function threadsSuffix(view: View, role: string | null, threads: number): string {
  const [swept = ""] = view.work.roles;
  return role == null || role === swept ? `, ${formatRoleCount("threads", threads)}` : ` with ${formatRoleCount(swept, threads)}`;
}
