// Figure: amplification, the bytes written, read and stored over those of keys and values.

import { formatDirection, nonEmptyTexts, trialsNote, type Drawing, type Figure } from "../drawing";
import { formatValue, NONE } from "../format";
import { barGaps } from "../gaps";
import { costMetric, metricRange, threadsText } from "../model";
import type { View } from "../view";
import { barChart, type BarPanel } from "./bars";
import { casesAtThreads, threadsControl } from "./choices";

export const amplification: Figure = { name: "amplification", draw };

const KINDS = [["write_amplification", "write"], ["read_amplification", "read"], ["space_amplification", "space"]] as const;

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "amplification");
  const cases = casesAtThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const list: BarPanel[] = KINDS.map(([name, title]) => ({
    title: `${title} amplification`,
    ...barGaps(view, cases, (one) => costMetric(one, name)),
    format: (value: number) => `${formatValue(value, "B/B")}×`,
    bars: cases.flatMap((one) => {
      const metric = costMetric(one, name);
      if (metric?.value == null) return [];
      const parts = [{ name: title, value: metric.value }];
      return [{ engine: one.engine, parts, range: metricRange(metric), combine: metric.combine }];
    }),
  })).filter((panel) => panel.bars.length > 0);
  if (list.length === 0) return null;
  const help = KINDS.map(([name, title]) => {
    const definition = view.model.data.definitions.find((definition) => definition.name === name);
    return definition ? `${title[0]?.toUpperCase()}${title.slice(1)}: ${definition.help[0]?.toLowerCase()}${definition.help.slice(1)}` : "";
  });
  return {
    title: "Amplification",
    note: `Bytes over bytes, ${formatDirection("lower")}; median of ${trialsNote(view)}.`,
    how: nonEmptyTexts(...help, "Sources: kernel and block device over what the load generator counted."),
    controls: [threads],
    cases,
    whiskers: true,
    chart: (width, theme) => barChart(list, width, theme),
    table: () => ({
      head: ["engine", "threads", ...KINDS.flatMap(([, title]) => [title, "range", "n"])],
      rows: view.cases.filter((one) => !one.engine.loadGenerator).map((one) => [
        one.engine.name, threadsText(one),
        ...KINDS.flatMap(([name]) => {
          const metric = costMetric(one, name), range = metricRange(metric);
          return [metric?.value == null ? metric?.missing ?? NONE : formatValue(metric.value, "B/B"),
            range ? `${formatValue(range[0], "B/B")} to ${formatValue(range[1], "B/B")}` : NONE, String(metric?.n ?? 0)];
        }),
      ]),
    }),
  };
}
