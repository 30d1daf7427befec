// Numbers as people read them: three significant digits and a unit, as the terminal writes them.

export const NONE = "–";

/** A role's own threads; where another number is swept, that too: `1 @4`, as the terminal says it. */
export function ownThreads(own: number | undefined, swept: number | null): string {
  if (own == null) return swept == null ? NONE : String(swept);
  return swept == null || swept === own ? String(own) : `${own} @${swept}`;
}

function significant(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95 || size === 0) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.1) return value.toFixed(2);
  return value >= 0.001 ? value.toFixed(3) : value.toPrecision(2);
}

function scaled(value: number, base: number, units: readonly string[]): string {
  let unit = 0;
  let rest = value;
  while (Math.abs(rest) >= base - 0.5 && unit + 1 < units.length) {
    rest /= base;
    unit += 1;
  }
  const whole = unit === 0 && Number.isInteger(rest);
  const text = whole ? rest.toFixed(0) : significant(rest);
  return units[unit] ? `${text} ${units[unit]}` : text;
}

export const si = (value: number): string => scaled(value, 1000, ["", "k", "M", "G", "T", "P"]);

export const bytes = (value: number): string =>
  scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);

export function duration(ns: number): string {
  if (ns < 59.95e9) return scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
  const seconds = Math.round(ns / 1e9);
  const pair = (large: number, unit: string, small: number, rest: string) =>
    small === 0 ? `${large}${unit}` : `${large}${unit}${small}${rest}`;
  if (seconds < 3600) return pair(Math.floor(seconds / 60), "m", seconds % 60, "s");
  if (seconds < 86400) return pair(Math.floor(seconds / 3600), "h", Math.floor((seconds % 3600) / 60), "m");
  return pair(Math.floor(seconds / 86400), "d", Math.floor((seconds % 86400) / 3600), "h");
}

/** A moment of a phase: seconds in the first minute, then hours and minutes. */
export const clock = (seconds: number): string =>
  seconds < 60 ? `${Number(seconds.toFixed(3))} s` : duration(seconds * 1e9);

/** A value in the unit of its figure. */
export function inUnit(value: number | null | undefined, unit: string): string {
  if (value == null) return NONE;
  switch (unit) {
    case "ns": return duration(value);
    case "B": return bytes(value);
    case "B/op": return `${bytes(value)}/op`;
    case "%": return `${significant(value)} %`;
    case "1/s": return `${si(value)}/s`;
    case "1/op": return `${significant(value)}/op`;
    case "1/record": return `${significant(value)}/record`;
    case "B/B": return significant(value);
    default: return si(value);
  }
}

/** A value of a table: times in the unit that suits them. */
export const reading = (value: number, unit: string): string => (unit === "ns" ? duration(value) : inUnit(value, unit));

export const ratio = (value: number): string =>
  value === 0 ? "0" : value >= 99.5 ? si(value) : value < 0.1 ? value.toPrecision(2) : value.toFixed(2);

/** A whole number with its thousands apart. */
export const grouped = (value: number): string =>
  Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");

/** Nines as people say them: 3 is 99.9 %. */
export function percentile(nines: number): string {
  if (Math.abs(nines - 0.301) < 1e-3) return "p50";
  const percent = 100 * (1 - 10 ** -nines);
  return `p${Number(percent.toFixed(Math.max(0, Math.ceil(nines) - 2) + (Number.isInteger(nines) ? 0 : 2)))}`;
}

export function date(unixNs: number): string {
  return new Date(unixNs / 1e6).toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");
}

/** Three digits, or as many as a large value has. */
export const three = (value: number): string => (value >= 999.5 ? grouped(value) : value.toPrecision(3));

/** A value by its share of another: `−8.1 %`, `3.2 times`. */
export function by(ratio: number | null): string {
  if (ratio == null) return "from 0";
  return ratio >= 2 || ratio <= 0.5 ? `${three(ratio)} times` : `${ratio >= 1 ? "+" : "−"}${(Math.abs(ratio - 1) * 100).toFixed(1)} %`;
}

export const capital = (text: string): string => (text[0]?.toUpperCase() ?? "") + text.slice(1);
