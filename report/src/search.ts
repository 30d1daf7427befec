// A search's target and edge, for the figures that show its points: the target is a line, the edge
// an area.

import { capitalize } from "./format";

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
  /** The target's bound on the y axis; null: none. */
  bound: { y: number; text: string } | null;
  /** The edge lies between these places on the axis; null: no edge. */
  edge: [from: number, to: number] | null;
}

/** Returns the search for the phase that it compared with its target; null for other phases. */
export const phaseSearch = (search: Search | null, phase: string): Search | null => (search?.phase === phase ? search : null);

/** Returns the marks of a panel: of a role's rate, or of a percentile (`p99`) of its times. `ops` are the role's operations. */
export function searchMarks(search: Search | null, role: string, percentile: string | null, ops: string[]): Marks {
  const drawnCondition = search?.conditions.find((condition) => condition.unit === (percentile === null ? "rate" : "time")
    && (percentile === null ? condition.roles.length === 1 && condition.roles[0] === role : condition.roles.includes(role))
    && isAboutPanel(condition.about, percentile, ops));
  return { bound: drawnCondition ? { y: drawnCondition.bound, text: "target" } : null, edge: search ? searchEdge(search) : null };
}

/** Operations on a single key or record, whose number is that of the keys. */
const SINGLE = ["get", "insert", "update", "delete", "rmw"];

/** Whether a condition is about a panel's values, which are of all operations of its role. */
function isAboutPanel(about: string, percentile: string | null, ops: string[]): boolean {
  const [figure, ...names] = about.split(/\.(?!\d)/).reverse();
  if (percentile === null) return figure === "ops" || (ops.length === 1 && SINGLE.includes(ops[0] ?? ""));
  return figure === percentile && (ops.length === 1 || !names.some((name) => ops.includes(name)));
}

function searchEdge({ axis, between, result, user_bytes }: Search): [number, number] | null {
  if (result.is !== "between" || result.met == null || result.missed == null) return null;
  const axisPlace = (value: number) => (axis === "ram" ? user_bytes / value : value);
  // If a trial met the target even at the hardest value, the edge may reach that far.
  const hardest = axis === "ram" ? between?.low : between?.high;
  return [axisPlace(result.met), axisPlace(result.surely_missed ?? hardest ?? result.missed)];
}

/** Explains the marks that are drawn. */
export function searchNote(search: Search | null, panelMarks: (Marks | undefined)[]): string {
  if (!search) return "";
  const bound = panelMarks.some((marks) => marks?.bound), edge = panelMarks.some((marks) => marks?.edge);
  const words = [bound ? `dashed: what ${search.target} asks for` : "", edge ? "grey: where it stops being met" : ""].filter((word) => word !== "");
  return words.length > 0 ? ` ${capitalize(words.join("; "))}.` : "";
}

/** Returns the percentiles that a target names, each with a role: `p99` of `readers`. */
export const targetPercentiles = (search: Search | null): { role: string; percentile: string }[] =>
  (search?.conditions ?? []).filter((condition) => condition.unit === "time").flatMap(({ about, roles }) =>
    roles.map((role) => ({ role, percentile: about.split(/\.(?!\d)/).at(-1) ?? "" })));
