// Labels of figures in rows and above charts: "Updates/s with 1 reader", "get p99".

import { roleOps, unique, type Case } from "./model";
import type { View } from "./view";

const NOUNS: Record<string, string> = {
  get: "Reads", update: "Updates", insert: "Inserts", delete: "Deletes", scan: "Range scans", multiget: "Multigets",
  rmw: "Read-modify-writes", batch: "Batches",
};

/** Returns `Reads/s` for a role with one kind of operation, else `Ops/s`, with the role's name if there are several. */
export function rateLabel(view: View, role: string): string {
  const mixes = unique(view.cases.flatMap((one) => (one.run?.roles ?? []).filter((row) => row.role === role).map((row) => row.mix)));
  const [mix] = mixes;
  const noun = mixes.length === 1 && mix ? NOUNS[mix] : undefined;
  return noun ? `${noun}/s` : view.work.roles.length > 1 ? `${role}: ops/s` : "Ops/s";
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
