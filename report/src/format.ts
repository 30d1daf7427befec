// Formats numbers with three significant digits and a unit, like the terminal.

export const NONE = "–";

/** Returns a role's own threads, with the swept number if that differs (`1 @4`), like the terminal. */
export function formatOwnThreads(own: number | undefined, swept: number | null): string {
  if (own == null) return swept == null ? NONE : String(swept);
  return swept == null || swept === own ? String(own) : `${own} @${swept}`;
}

function formatSignificant(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95 || size === 0) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.1) return value.toFixed(2);
  return value >= 0.001 ? value.toFixed(3) : value.toPrecision(2);
}

function formatScaled(value: number, base: number, units: readonly string[]): string {
  let unit = 0;
  let rest = value;
  while (Math.abs(rest) >= base - 0.5 && unit + 1 < units.length) {
    rest /= base;
    unit += 1;
  }
  const whole = unit === 0 && Number.isInteger(rest);
  const text = whole ? rest.toFixed(0) : formatSignificant(rest);
  return units[unit] ? `${text} ${units[unit]}` : text;
}

export const formatSi = (value: number): string => formatScaled(value, 1000, ["", "k", "M", "G", "T", "P"]);

export const formatBytes = (value: number): string =>
  formatScaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);

export function formatDuration(ns: number): string {
  if (ns < 59.95e9) return formatScaled(ns, 1000, ["ns", "µs", "ms", "s"]);
  const seconds = Math.round(ns / 1e9);
  const joinUnits = (large: number, unit: string, small: number, rest: string) =>
    small === 0 ? `${large}${unit}` : `${large}${unit}${small}${rest}`;
  if (seconds < 3600) return joinUnits(Math.floor(seconds / 60), "m", seconds % 60, "s");
  if (seconds < 86400) return joinUnits(Math.floor(seconds / 3600), "h", Math.floor((seconds % 3600) / 60), "m");
  return joinUnits(Math.floor(seconds / 86400), "d", Math.floor((seconds % 86400) / 3600), "h");
}

/** Formats a moment of a phase: seconds in the first minute, then hours and minutes. */
export const formatClock = (seconds: number): string =>
  seconds < 60 ? `${Number(seconds.toFixed(3))} s` : formatDuration(seconds * 1e9);

/** Formats a value in the unit of its figure. */
export function formatValue(value: number | null | undefined, unit: string): string {
  if (value == null) return NONE;
  switch (unit) {
    case "ns": return formatDuration(value);
    case "B": return formatBytes(value);
    case "B/op": return `${formatBytes(value)}/op`;
    case "%": return `${formatSignificant(value)} %`;
    case "1/s": return `${formatSi(value)}/s`;
    case "1/op": return `${formatSignificant(value)}/op`;
    case "1/record": return `${formatSignificant(value)}/record`;
    case "B/B": return formatSignificant(value);
    default: return formatSi(value);
  }
}

export const formatRatio = (value: number): string =>
  value === 0 ? "0" : value >= 99.5 ? formatSi(value) : value < 0.1 ? value.toPrecision(2) : value.toFixed(2);

/** Formats a whole number with thousands separators. */
export const formatThousands = (value: number): string =>
  Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");

/** Returns the name of a percentile by its number of nines: 3 is `p99.9`. */
export function formatPercentile(nines: number): string {
  if (Math.abs(nines - 0.301) < 1e-3) return "p50";
  const percent = 100 * (1 - 10 ** -nines);
  return `p${Number(percent.toFixed(Math.max(0, Math.ceil(nines) - 2) + (Number.isInteger(nines) ? 0 : 2)))}`;
}

export function formatDate(unixNs: number): string {
  return new Date(unixNs / 1e6).toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");
}

/** Formats a value with three digits, or with all digits of its whole part. */
export const formatThreeDigits = (value: number): string => (value >= 999.5 ? formatThousands(value) : value.toPrecision(3));

/** Formats a ratio as a change: `−8.1 %`, `3.2 times`. */
export function formatChange(ratio: number | null): string {
  if (ratio == null) return "from 0";
  return ratio >= 2 || ratio <= 0.5 ? `${formatThreeDigits(ratio)} times` : `${ratio >= 1 ? "+" : "−"}${(Math.abs(ratio - 1) * 100).toFixed(1)} %`;
}

export const capitalize = (text: string): string => (text[0]?.toUpperCase() ?? "") + text.slice(1);
