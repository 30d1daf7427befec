// What a search was after, for the figures that show its points: the target as a line, the edge as
// an area.

import { capital } from "./format";

/** A search for the least RAM or the highest rate at which a target is met. */
export interface Search {
  engine: string;
  target: string;
  axis: "ram" | { rate: { role: string } };
  phase: string;
  conditions: { about: string; unit: "time" | "rate" | "share"; bound: number; roles: string[] }[];
  between: { low: number; high: number } | null;
  user_bytes: number;
  result: { is: string; met?: number; missed?: number; surely_missed?: number | null };
  sentences: string[];
}

export interface Marks {
  /** What is to be met. */
  bound: { y: number; text: string } | null;
  /** Between these places along the axis the edge lies. */
  edge: [from: number, to: number] | null;
}

/** The search of a run, at the phase that it held against its target; of another phase, none. */
export const searchAt = (search: Search | null, phase: string): Search | null => (search?.phase === phase ? search : null);

/** The marks of a panel: of a role's rate, or of a percentile (`p99`) of its times. `ops` are those that the role does. */
export function marksOf(search: Search | null, role: string, percentile: string | null, ops: string[]): Marks {
  const about = search?.conditions.find((condition) => condition.unit === (percentile === null ? "rate" : "time")
    && (percentile === null ? condition.roles.length === 1 && condition.roles[0] === role : condition.roles.includes(role))
    && isDrawn(condition.about, percentile, ops));
  return { bound: about ? { y: about.bound, text: "target" } : null, edge: search ? edgeOf(search) : null };
}

/** One key or record each: as many of these as operations. */
const SINGLE = ["get", "insert", "update", "delete", "rmw"];

/** Whether a panel's values, which are of all operations of its role, are what a condition is about. */
function isDrawn(about: string, percentile: string | null, ops: string[]): boolean {
  const [figure, ...names] = about.split(/\.(?!\d)/).reverse();
  if (percentile === null) return figure === "ops" || (ops.length === 1 && SINGLE.includes(ops[0] ?? ""));
  return figure === percentile && (ops.length === 1 || !names.some((name) => ops.includes(name)));
}

function edgeOf({ axis, between, result, user_bytes }: Search): [number, number] | null {
  if (result.is !== "between" || result.met == null || result.missed == null) return null;
  const place = (value: number) => (axis === "ram" ? user_bytes / value : value);
  // Where some trial met it even at the hardest value, the edge may be as far as that.
  const hardest = axis === "ram" ? between?.low : between?.high;
  return [place(result.met), place(result.surely_missed ?? hardest ?? result.missed)];
}

/** How to read the marks, of those that are drawn. */
export function searchNote(search: Search | null, drawn: (Marks | undefined)[]): string {
  if (!search) return "";
  const bound = drawn.some((marks) => marks?.bound), edge = drawn.some((marks) => marks?.edge);
  const words = [bound ? `dashed: what ${search.target} asks for` : "", edge ? "grey: where it stops being met" : ""].filter((word) => word !== "");
  return words.length > 0 ? ` ${capital(words.join("; "))}.` : "";
}

/** The percentiles that a target names, each with a role: `p99` of `readers`. */
export const percentilesOf = (search: Search | null): { role: string; percentile: string }[] =>
  (search?.conditions ?? []).filter((condition) => condition.unit === "time").flatMap(({ about, roles }) =>
    roles.map((role) => ({ role, percentile: about.split(/\.(?!\d)/).at(-1) ?? "" })));
