// What a search was after, for the figures that show its points: the target as a line, the edge as
// an area.

/** A search for the least RAM or the highest rate at which a target is met. */
export interface Search {
  engine: string;
  target: string;
  axis: "ram" | { rate: { role: string } };
  phase: string;
  conditions: { about: string; latency: boolean; bound: number; roles: string[] }[];
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

/** The marks of a panel: of a role's rate, or of a percentile (`p99`) of its times. */
export function marksOf(search: Search | null, role: string, percentile: string | null): Marks {
  const about = search?.conditions.find((condition) => percentile === null
    ? !condition.latency && condition.roles.length === 1 && condition.roles[0] === role
    : condition.latency && condition.roles.includes(role) && named(condition.about, percentile));
  return { bound: about ? { y: about.bound, text: "target" } : null, edge: search ? edgeOf(search) : null };
}

const named = (about: string, percentile: string): boolean => about === percentile || about.endsWith(`.${percentile}`);

function edgeOf({ axis, result, user_bytes }: Search): [number, number] | null {
  if (result.is !== "between" || result.met == null || result.missed == null) return null;
  const place = (value: number) => (axis === "ram" ? user_bytes / value : value);
  return [place(result.met), place(result.surely_missed ?? result.missed)];
}

/** How to read the marks. */
export const searchNote = (search: Search | null): string => (search
  ? ` Dashed: what ${search.target} asks for; grey: where it stops being met.` : "");
