// The functions that an engine's threads were in while they ran, with all that they called.

import { control, paragraphs, type Drawing, type Figure } from "../drawing";
import { flameGraph, flamePicture, ORIGINS, threadsWords } from "../flamegraph";
import { functionsOf, nsPerOp, treeOf } from "../flames";
import { duration, grouped, NONE } from "../format";
import type { View } from "../view";
import { atThreads, threadsControl } from "./choices";

export const flame: Figure = { name: "flame", draw };

function draw(view: View): Drawing | null {
  const threads = threadsControl(view, "flame");
  const cases = atThreads(view, threads);
  const all = view.model.data.flames.filter((flame) => flame.phase === view.work.phase && cases.some((one) => one.index === flame.group));
  const engineOf = (group: number) => cases.find((one) => one.index === group)?.engine;
  const names = [...new Map(all.map((one) => [engineOf(one.group)?.id ?? "", engineOf(one.group)?.name ?? ""]))];
  const engine = control(view, "flame.engine", "engine", names.map(([value, label]) => ({ value, label })), names[0]?.[0] ?? "");
  const own = all.filter((one) => engineOf(one.group)?.id === engine.value);
  const kinds = own.map((one) => ({ value: `${one.owner}/${one.threads}`, label: threadsWords(one) }));
  const of = control(view, "flame.of", "of", kinds, kinds[0]?.value ?? "");
  const shown = own.find((one) => `${one.owner}/${one.threads}` === of.value);
  if (!shown) return null;
  const root = treeOf(shown);
  const label = `Functions of ${names.find(([id]) => id === engine.value)?.[1] ?? ""}, ${threadsWords(shown)}`;
  const cutShare = shown.cut / Math.max(shown.samples, 1);
  return {
    title: "Where CPU time goes: functions",
    note: `${grouped(shown.samples)} samples, ${shown.rate_hz} per second of CPU time, ${shown.trials} trial${shown.trials === 1 ? "" : "s"}. What waits is not sampled. Click or Enter: zoom.`,
    how: paragraphs(
      "The kernel takes a sample for each hundredth of a second that a thread is on a CPU, in loads and measured phases only. A function stands below its caller and is as wide as its share of the samples. Functions below a thousandth are left out.",
      cutShare > 0.01 ? `${(100 * cutShare).toFixed(1)} % of the stacks are cut: their callers are unknown.` : "",
      shown.lost > 0 ? `${grouped(shown.lost)} samples were lost.` : ""),
    controls: [engine, threads, of],
    element: (theme) => flameGraph(root, shown, theme, label),
    picture: (theme) => flamePicture(root, shown, theme),
    table: () => ({
      head: ["function", "file", "code of", "self", "total", "self per operation", "samples"],
      words: 3,
      rows: functionsOf(root).filter((sum) => sum.own > 0).map((sum) => {
        const ns = nsPerOp(shown, sum.own), share = (count: number) => `${((100 * count) / Math.max(shown.samples, 1)).toFixed(1)} %`;
        return [sum.name, sum.module, sum.origin ? ORIGINS[sum.origin] : "", share(sum.own), share(sum.total), ns == null ? NONE : duration(ns), grouped(sum.own)];
      }),
    }),
  };
}
