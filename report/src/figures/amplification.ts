// How much more the drive wrote, read and holds than keys and values.

import { better, paragraphs, trialsNote, type Drawing, type Figure } from "../drawing";
import { inUnit, NONE } from "../format";
import { barGaps } from "../gaps";
import { costOf, rangeOf, threadsText } from "../model";
import type { View } from "../view";
import { barChart, type BarPanel } from "./bars";
import { atThreads, threadsControl } from "./choices";

export const amplification: Figure = { name: "amplification", draw };

const KINDS = [["write_amplification", "write"], ["read_amplification", "read"], ["space_amplification", "space"]] as const;

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "amplification");
  const cases = atThreads(view, threads).filter((one) => !one.engine.loadGenerator);
  const list: BarPanel[] = KINDS.map(([name, title]) => ({
    title: `${title} amplification`,
    ...barGaps(view, cases, (one) => costOf(one, name)),
    format: (value: number) => `${inUnit(value, "B/B")}×`,
    bars: cases.flatMap((one) => {
      const metric = costOf(one, name);
      if (metric?.value == null) return [];
      const parts = [{ name: title, value: metric.value }];
      return [{ engine: one.engine, parts, range: rangeOf(metric), combine: metric.combine }];
    }),
  })).filter((panel) => panel.bars.length > 0);
  if (list.length === 0) return null;
  const help = KINDS.map(([name, title]) => {
    const definition = view.model.data.definitions.find((definition) => definition.name === name);
    return definition ? `${title[0]?.toUpperCase()}${title.slice(1)}: ${definition.help[0]?.toLowerCase()}${definition.help.slice(1)}` : "";
  });
  return {
    title: "Amplification",
    note: `Bytes over bytes, ${better("lower")}; median of ${trialsNote(view)}.`,
    how: paragraphs(...help, "Sources: kernel and block device over what the load generator counted."),
    controls: [threads],
    cases,
    whiskers: true,
    chart: (width, theme) => barChart(list, width, theme),
    table: () => ({
      head: ["engine", "threads", ...KINDS.flatMap(([, title]) => [title, "range", "n"])],
      rows: view.cases.filter((one) => !one.engine.loadGenerator).map((one) => [
        one.engine.name, threadsText(one),
        ...KINDS.flatMap(([name]) => {
          const metric = costOf(one, name), range = rangeOf(metric);
          return [metric?.value == null ? metric?.missing ?? NONE : inUnit(metric.value, "B/B"),
            range ? `${inUnit(range[0], "B/B")} to ${inUnit(range[1], "B/B")}` : NONE, String(metric?.n ?? 0)];
        }),
      ]),
    }),
  };
}
