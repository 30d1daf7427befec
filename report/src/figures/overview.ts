// The first screen's three small charts: what was delivered, and how long the slowest of a hundred
// took, by threads where a run has several numbers of those.

import { trialsNote, type Drawing, type Figure } from "../drawing";
import { duration, inUnit, NONE, si } from "../format";
import { barGaps, expectedEngines, gapsOf } from "../gaps";
import { costOf, opsApart, rangeOf, rateOf, tailOf, threadsText, type Case } from "../model";
import { rateWords, tailWords } from "../phrases";
import type { Metric } from "../data";
import { threadsOf, type View } from "../view";
import { barChart } from "./bars";
import { lineChart, pointOf, type LinePanel } from "./lines";
import { driveLine, readsOnly } from "./throughput";

export const overview: Figure = { name: "overview", draw };

interface Shown {
  title: string;
  read: (one: Case) => Metric | null;
  format: (value: number) => string;
  /** The role whose rate it is. */
  rate: string | null;
}

/** So many charts are seen at once. */
const CHARTS = 3;

function shownOf(view: View): Shown[] {
  const cost = (title: string, name: string, format: Shown["format"]): Shown => ({ title, read: (one) => costOf(one, name), format, rate: null });
  if (view.work.load) {
    return [
      { title: "Records loaded/s", read: (one) => rateOf(one, "load"), format: si, rate: null },
      cost("Write amplification", "write_amplification", (value) => `${inUnit(value, "B/B")}×`),
      cost("Space amplification", "space_amplification", (value) => `${inUnit(value, "B/B")}×`),
    ];
  }
  const rate = (role: string): Shown => ({ title: rateWords(view, role), read: (one) => rateOf(one, role), format: si, rate: role });
  const tails = (role: string, tail: string, called: string): Shown[] => opsApart(view.cases, role).map((op) => (
    { title: tailWords(view, role, called, op), read: (one) => tailOf(one, role, tail, op), format: duration, rate: null }));
  const [first = "", second] = view.work.roles;
  const all = second == null ? [rate(first), ...tails(first, "p99", "p99"), ...tails(first, "p99_9", "p99.9")]
    : [rate(first), rate(second), ...tails(first, "p99", "p99")];
  return all.slice(0, CHARTS);
}

function draw(view: View): Drawing | null {
  const counts = threadsOf(view);
  const cases = view.cases.filter((one) => !one.engine.loadGenerator);
  const shown = shownOf(view).filter((one) => cases.some((each) => one.read(each)?.value != null));
  if (shown.length === 0 || view.work.drive) return null;
  const several = counts.length > 1, dotted = cases.some((one) => one.group.trials.length > 1);
  return {
    title: several ? "At a glance, by threads" : "At a glance",
    note: `Better: higher rates, lower ${view.work.load ? "amplification" : "latency"}. ${trialsNote(view)}${several && dotted ? ", each a dot" : ""}.`,
    whiskers: true,
    chart: (width, theme) => {
      if (several) return lineChart(shown.map((one) => panel(view, one, cases, counts)), { ...AXES, x: { ...AXES.x, values: counts } }, width, theme, "small");
      return barChart(shown.map((one) => ({
        title: one.title, format: one.format, ...barGaps(view, cases, one.read),
        bars: cases.flatMap((each) => {
          const metric = one.read(each);
          if (metric?.value == null) return [];
          return [{ engine: each.engine, parts: [{ name: one.title, value: metric.value }], range: rangeOf(metric), combine: metric.combine }];
        }),
      })), width, theme);
    },
    table: () => ({
      head: ["engine", "threads", ...shown.flatMap(({ title }) => [title, "range", "n"])],
      rows: cases.map((one) => [one.engine.name, threadsText(one), ...shown.flatMap(({ read, format }) => {
        const metric = read(one), range = rangeOf(metric);
        return [metric?.value == null ? metric?.missing ?? NONE : format(metric.value), range ? `${format(range[0])} to ${format(range[1])}` : NONE, String(metric?.n ?? 0)];
      })]),
    }),
  };
}

const AXES = {
  x: { name: "threads", type: "category", format: String },
  y: { name: "", type: "value", format: si },
} as const;

function panel(view: View, shown: Shown, cases: Case[], counts: number[]): LinePanel {
  const lines = view.engines.map((engine) => ({
    engine,
    points: counts.flatMap((threads) => {
      const one = cases.find((each) => each.engine.id === engine.id && each.threads === threads);
      const metric = one ? shown.read(one) : null;
      return metric?.value == null ? [] : [pointOf(threads, metric, metric.value)];
    }),
  })).filter((line) => line.points.length > 0);
  const drive = shown.rate != null && readsOnly(view, shown.rate) ? driveLine(view) : null;
  const values = lines.flatMap((line) => line.points.map((point) => point.y)).filter((value) => value > 0);
  const far = Math.max(...values) > 30 * Math.min(...values);
  // A ceiling far above what engines do would press their lines together.
  const near = drive && drive.points.every((point) => point.y <= 4 * Math.max(...values));
  return {
    title: shown.title,
    gaps: gapsOf(expectedEngines(view), cases, (one) => one.threads, shown.read),
    lines: drive && near ? [...lines, drive] : lines,
    y: { name: shown.title, type: far || shown.format === duration ? "log" : "value", format: shown.format },
  };
}
