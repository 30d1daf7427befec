// What a study published, and the figures of this run that stand beside it: drawn, never computed with.

import type { Metric, Summary } from "./data";
import { inUnit } from "./format";
import { metricOf } from "./model";

export interface BesideStudy {
  study: { id: string; authors: string; published: string };
  published: Published[];
}

/** A published row. */
export interface Published {
  table: string;
  title: string;
  selectors: Selectors;
  values: PublishedValue[];
  doubt: string | null;
  own: Seat[];
  why_none: string | null;
}

/** What a row is of; null: the study does not tell it apart. */
export interface Selectors {
  drive: string | null; engine: string | null; part: string | null; volume: string | null; tier: string | null;
  ram: string | null; records: string | null; phase: string | null; role: string | null; op: string | null;
  io: string | null; block: string | null; depth: number | null; threads: number | null;
  setting: string | null; detail: string | null; printed: string | null;
}

export interface PublishedValue {
  figure: string;
  unit: string;
  /** Null: it was published as a range. */
  value: number | null;
  least: number | null;
  most: number | null;
}

/** A row of the run, by its numbers; no run: its load, no role: the phase as a whole. */
export interface Seat {
  group: number;
  run: number | null;
  role: number | null;
}

export const sourceOf = ({ study }: BesideStudy): string => `${study.authors}, ${study.published}`;

/** A row's figure: that of its role, else of the phase that it is part of. */
export function figureAt({ groups }: Summary, seat: Seat, name: string): Metric | null {
  const group = groups[seat.group];
  if (seat.run == null) return metricOf(group?.load?.metrics, name);
  const run = group?.runs[seat.run];
  const role = seat.role != null ? run?.roles[seat.role] : run?.roles.length === 1 ? run.roles[0] : undefined;
  return metricOf(role?.metrics, name) ?? metricOf(run?.metrics, name);
}

const NAMES: Record<string, string> = { ops_per_s: "ops/s", records_per_s: "records/s" };

/** A figure's name in words: `service p99.99`; its values say the unit. */
export const calledOf = (figure: string): string => NAMES[figure] ?? figure.replace(/_ns(?=_|$)/, "").replace(/p(\d+)_(\d+)/, "p$1.$2").replaceAll("_", " ");

/** The ends of what was published: one, or those of a range. */
export const endsOf = ({ value, least, most }: PublishedValue): number[] =>
  (value == null ? [least, most] : [value]).filter((end) => end != null);

/** `400 k/s`, `760 k/s to 770 k/s`, `> 2.10 M/s`. */
export function textOf({ value, least, most, unit }: PublishedValue): string {
  const text = (number: number) => inUnit(number, unit);
  if (value != null) return text(value);
  if (least != null && most != null) return `${text(least)} to ${text(most)}`;
  return least != null ? `> ${text(least)}` : most != null ? `< ${text(most)}` : "";
}

const WORDS: Partial<Record<keyof Selectors, (value: string) => string>> = {
  threads: (n) => `${n} threads`, depth: (n) => `depth ${n}`,
};

/** Names for rows, in words of what tells them apart. */
export function namesOf(rows: Published[]): string[] {
  const keys = (Object.keys(rows[0]?.selectors ?? {}) as (keyof Selectors)[]).filter((key) => key !== "printed");
  const telling = keys.filter((key) => new Set(rows.map((row) => row.selectors[key])).size > 1);
  return rows.map(({ selectors }) => {
    const words = telling.flatMap((key) => (selectors[key] == null ? [] : [(WORDS[key] ?? String)(String(selectors[key]))]));
    return words.join(" ") || selectors.engine || selectors.detail || selectors.io || selectors.phase || "";
  });
}
