// Figure: the first screen's three small charts of rates and tail latencies, against threads if a run
// has several numbers of them.

import { trialsNote, type Drawing, type Figure } from "../drawing";
import { formatDuration, formatValue, NONE, formatSi } from "../format";
import { barGaps, expectedEngines, findGaps } from "../gaps";
import { costMetric, isScheduled, latencyOps, metricRange, rateMetric, tailMetric, threadsText, type Case } from "../model";
import { flawNote, rateLabel, tailLabel } from "../phrases";
import type { Metric } from "../data";
import { threadCounts, type View } from "../view";
import { barChart } from "./bars";
import { lineChart, metricPoint, type LinePanel } from "./lines";
import { driveLine, isReadOnly } from "./throughput";

export const overview: Figure = { name: "overview", draw };

interface Shown {
  title: string;
  read: (one: Case) => Metric | null;
  format: (value: number) => string;
  /** The role, if the chart is of its rate. */
  rate: string | null;
}

/** The number of charts. */
const CHARTS = 3;

function chartedFigures(view: View): Shown[] {
  const costFigure = (title: string, name: string, format: Shown["format"]): Shown => ({ title, read: (one) => costMetric(one, name), format, rate: null });
  if (view.work.load) {
    return [
      { title: "Records loaded/s", read: (one) => rateMetric(one, "load"), format: formatSi, rate: null },
      costFigure("Write amplification", "write_amplification", (value) => `${formatValue(value, "B/B")}×`),
      costFigure("Space amplification", "space_amplification", (value) => `${formatValue(value, "B/B")}×`),
    ];
  }
  const rateFigure = (role: string): Shown => ({ title: rateLabel(view, role), read: (one) => rateMetric(one, role), format: formatSi, rate: role });
  const tailFigures = (role: string, tail: string, tailName: string): Shown[] => latencyOps(view.cases, role).map((op) => (
    { title: tailLabel(view, role, tailName, op), read: (one) => tailMetric(one, role, tail, op), format: formatDuration, rate: null }));
  // The rate of a schedule is no engine's; how long it took to answer is.
  const mainFigures = (role: string) => (isScheduled(view.cases, role) ? tailFigures(role, "p99", "p99") : [rateFigure(role)]);
  const [first = "", second] = view.work.roles;
  const tails = isScheduled(view.cases, first) ? [] : tailFigures(first, "p99", "p99");
  const all = second == null ? [...mainFigures(first), ...tails, ...tailFigures(first, "p99_9", "p99.9")]
    : [...mainFigures(first), ...mainFigures(second), ...tails];
  return all.slice(0, CHARTS);
}

function draw(view: View): Drawing | null {
  const counts = threadCounts(view);
  const cases = view.cases.filter((one) => !one.engine.loadGenerator);
  const charted = chartedFigures(view).filter((one) => cases.some((each) => one.read(each)?.value != null));
  if (charted.length === 0 || view.work.drive) return null;
  const several = counts.length > 1, dotted = cases.some((one) => one.group.trials.length > 1);
  return {
    title: several ? "At a glance, by threads" : "At a glance",
    note: `Better: higher rates, lower ${view.work.load ? "amplification" : "latency"}. ${trialsNote(view)}${several && dotted ? ", each a dot" : ""}.${flawNote(view)}`,
    whiskers: true,
    chart: (width, theme) => {
      if (several) return lineChart(charted.map((one) => threadsPanel(view, one, cases, counts)), { ...AXES, x: { ...AXES.x, values: counts } }, width, theme, "small");
      return barChart(charted.map((one) => ({
        title: one.title, format: one.format, ...barGaps(view, cases, one.read),
        bars: cases.flatMap((each) => {
          const metric = one.read(each);
          if (metric?.value == null) return [];
          return [{ engine: each.engine, parts: [{ name: one.title, value: metric.value }], range: metricRange(metric), combine: metric.combine }];
        }),
      })), width, theme);
    },
    table: () => ({
      head: ["engine", "threads", ...charted.flatMap(({ title }) => [title, "range", "n"])],
      rows: cases.map((one) => [one.engine.name, threadsText(one), ...charted.flatMap(({ read, format }) => {
        const metric = read(one), range = metricRange(metric);
        return [metric?.value == null ? metric?.missing ?? NONE : format(metric.value), range ? `${format(range[0])} to ${format(range[1])}` : NONE, String(metric?.n ?? 0)];
      })]),
    }),
  };
}

const AXES = {
  x: { name: "threads", type: "category", format: String },
  y: { name: "", type: "value", format: formatSi },
} as const;

function threadsPanel(view: View, charted: Shown, cases: Case[], counts: number[]): LinePanel {
  const lines = view.engines.map((engine) => ({
    engine,
    points: counts.flatMap((threads) => {
      const one = cases.find((each) => each.engine.id === engine.id && each.threads === threads);
      const metric = one ? charted.read(one) : null;
      return metric?.value == null ? [] : [metricPoint(threads, metric, metric.value)];
    }),
  })).filter((line) => line.points.length > 0);
  const drive = charted.rate != null && isReadOnly(view, charted.rate) ? driveLine(view) : null;
  const values = lines.flatMap((line) => line.points.map((point) => point.y)).filter((value) => value > 0);
  const isSpread = Math.max(...values) > 30 * Math.min(...values);
  // A ceiling far above the engines would compress their lines.
  const isNear = drive && drive.points.every((point) => point.y <= 4 * Math.max(...values));
  return {
    title: charted.title,
    gaps: findGaps(expectedEngines(view), cases, (one) => one.threads, charted.read),
    lines: drive && isNear ? [...lines, drive] : lines,
    y: { name: charted.title, type: isSpread || charted.format === formatDuration ? "log" : "value", format: charted.format },
  };
}
