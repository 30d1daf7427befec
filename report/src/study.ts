// A study's published figures, and the comparable figures of this run. They are drawn, never computed with.

import type { Metric, Summary } from "./data";
import { formatValue } from "./format";
import { findMetric } from "./model";

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

/** The properties of a row's case; null: the study does not distinguish by it. */
export interface Selectors {
  drive: string | null; engine: string | null; part: string | null; volume: string | null; tier: string | null;
  ram: string | null; records: string | null; phase: string | null; role: string | null; op: string | null;
  io: string | null; block: string | null; depth: number | null; threads: number | null;
  setting: string | null; detail: string | null; printed: string | null;
}

export interface PublishedValue {
  figure: string;
  unit: string;
  /** The value; null: a range was published. */
  value: number | null;
  least: number | null;
  most: number | null;
}

/** A row of this run, by indices. Without `run`: the load; without `role`: the whole phase. */
export interface Seat {
  group: number;
  run: number | null;
  role: number | null;
}

export const studySource = ({ study }: BesideStudy): string => `${study.authors}, ${study.published}`;

/** Finds a row's figure: that of its role, else of its phase. */
export function findSeatMetric({ groups }: Summary, seat: Seat, name: string): Metric | null {
  const group = groups[seat.group];
  if (seat.run == null) return findMetric(group?.load?.metrics, name);
  const run = group?.runs[seat.run];
  const role = seat.role != null ? run?.roles[seat.role] : run?.roles.length === 1 ? run.roles[0] : undefined;
  return findMetric(role?.metrics, name) ?? findMetric(run?.metrics, name);
}

const NAMES: Record<string, string> = { ops_per_s: "ops/s", records_per_s: "records/s" };

/** Returns a figure's label: `service p99.99`; the values have the unit. */
export const figureLabel = (figure: string): string => NAMES[figure] ?? figure.replace(/_ns(?=_|$)/, "").replace(/p(\d+)_(\d+)/, "p$1.$2").replaceAll("_", " ");

/** Returns the published value, or the ends of a published range. */
export const publishedEnds = ({ value, least, most }: PublishedValue): number[] =>
  (value == null ? [least, most] : [value]).filter((end) => end != null);

/** Returns `400 k/s`, `760 k/s to 770 k/s` or `> 2.10 M/s`. */
export function formatPublished({ value, least, most, unit }: PublishedValue): string {
  const text = (number: number) => formatValue(number, unit);
  if (value != null) return text(value);
  if (least != null && most != null) return `${text(least)} to ${text(most)}`;
  return least != null ? `> ${text(least)}` : most != null ? `< ${text(most)}` : "";
}

const WORDS: Partial<Record<keyof Selectors, (value: string) => string>> = {
  threads: (n) => `${n} threads`, depth: (n) => `depth ${n}`,
};

/** Returns names of rows, made of the properties in which they differ. */
export function rowNames(rows: Published[]): string[] {
  const keys = (Object.keys(rows[0]?.selectors ?? {}) as (keyof Selectors)[]).filter((key) => key !== "printed");
  const telling = keys.filter((key) => new Set(rows.map((row) => row.selectors[key])).size > 1);
  return rows.map(({ selectors }) => {
    const words = telling.flatMap((key) => (selectors[key] == null ? [] : [(WORDS[key] ?? String)(String(selectors[key]))]));
    return words.join(" ") || selectors.engine || selectors.detail || selectors.io || selectors.phase || "";
  });
}
