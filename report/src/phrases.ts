// Names of figures in rows and above charts: "Updates/s with 1 reader", "get p99".

import { opsOf, unique, type Case } from "./model";
import type { View } from "./view";

const NOUNS: Record<string, string> = {
  get: "Reads", update: "Updates", insert: "Inserts", delete: "Deletes", scan: "Range scans", multiget: "Multigets",
  rmw: "Read-modify-writes", batch: "Batches",
};

/** `Reads/s` of a role that does but one thing; of a mix `Ops/s`, with the role's name where there are several. */
export function rateWords(view: View, role: string): string {
  const mixes = unique(view.cases.flatMap((one) => (one.run?.roles ?? []).filter((row) => row.role === role).map((row) => row.mix)));
  const [mix] = mixes;
  const noun = mixes.length === 1 && mix ? NOUNS[mix] : undefined;
  return noun ? `${noun}/s` : view.work.roles.length > 1 ? `${role}: ops/s` : "Ops/s";
}

/** `p99`, `get p99`, `p99 of readers`. */
export function tailWords(view: View, role: string, called: string, op: string | null): string {
  const words = op == null ? called : `${op} ${called}`;
  return view.work.roles.length > 1 ? `${words} of ${role}` : words;
}

/** What is said where a role's operations are not told apart. */
export const pooled = (cases: Case[], role: string): string => (opsOf(cases, role).length > 1 ? `, ${opsOf(cases, role).join(" and ")} together` : "");

/** `1 reader`, `4 readers`. */
export function counted(role: string, count: number): string {
  const one = role.endsWith("s") ? role.slice(0, -1) : role;
  return `${count} ${count === 1 ? one : `${one}s`}`;
}

/** With how many threads the first role, which is swept, worked: `, 4 threads`; beside another role ` with 4 readers`. */
export function atWords(view: View, role: string | null, threads: number): string {
  const [swept = ""] = view.work.roles;
  return role == null || role === swept ? `, ${counted("threads", threads)}` : ` with ${counted(swept, threads)}`;
}
