// Figure: a flame graph of the functions of an engine's threads.

import { createControl, nonEmptyTexts, type Drawing, type Figure } from "../drawing";
import { flameGraph, flamePicture, ORIGINS, threadKindLabel } from "../flamegraph";
import { sumFunctions, nsPerOp, buildTree } from "../flames";
import { formatDuration, formatThousands, NONE } from "../format";
import type { View } from "../view";
import { casesAtThreads, threadsControl } from "./choices";

export const flame: Figure = { name: "flame", draw };

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "flame");
  const cases = casesAtThreads(view, threads);
  const all = view.model.data.flames.filter((flame) => flame.phase === view.work.phase && cases.some((one) => one.index === flame.group));
  const findEngine = (group: number) => cases.find((one) => one.index === group)?.engine;
  const names = [...new Map(all.map((one) => [findEngine(one.group)?.id ?? "", findEngine(one.group)?.name ?? ""]))];
  const engine = createControl(view, "flame.engine", "engine", names.map(([value, label]) => ({ value, label })), names[0]?.[0] ?? "");
  const engineFlames = all.filter((one) => findEngine(one.group)?.id === engine.value);
  const kinds = engineFlames.map((one) => ({ value: `${one.owner}/${one.threads}`, label: threadKindLabel(one) }));
  const kind = createControl(view, "flame.of", "of", kinds, kinds[0]?.value ?? "");
  const selected = engineFlames.find((one) => `${one.owner}/${one.threads}` === kind.value);
  if (!selected) return null;
  const root = buildTree(selected);
  const label = `Functions of ${names.find(([id]) => id === engine.value)?.[1] ?? ""}, ${threadKindLabel(selected)}`;
  const cutShare = selected.cut / Math.max(selected.samples, 1);
  return {
    title: "Where CPU time goes: functions",
    note: `${formatThousands(selected.samples)} samples, ${selected.rate_hz} per second of CPU time, ${selected.trials} trial${selected.trials === 1 ? "" : "s"}. What waits is not sampled. Click or Enter: zoom.`,
    how: nonEmptyTexts(
      "The kernel takes a sample for each hundredth of a second that a thread is on a CPU, in loads and measured phases only. A function stands below its caller and is as wide as its share of the samples. Functions below a thousandth are left out.",
      cutShare > 0.01 ? `${(100 * cutShare).toFixed(1)} % of the stacks are cut: their callers are unknown.` : "",
      selected.lost > 0 ? `${formatThousands(selected.lost)} samples were lost.` : ""),
    controls: [engine, threads, kind],
    element: (theme) => flameGraph(root, selected, theme, label),
    picture: (theme) => flamePicture(root, selected, theme),
    table: () => ({
      head: ["function", "file", "code of", "self", "total", "self per operation", "samples"],
      words: 3,
      rows: sumFunctions(root).filter((sum) => sum.own > 0).map((sum) => {
        const ns = nsPerOp(selected, sum.own), formatShare = (count: number) => `${((100 * count) / Math.max(selected.samples, 1)).toFixed(1)} %`;
        return [sum.name, sum.module, sum.origin ? ORIGINS[sum.origin] : "", formatShare(sum.own), formatShare(sum.total), ns == null ? NONE : formatDuration(ns), formatThousands(sum.own)];
      }),
    }),
  };
}
