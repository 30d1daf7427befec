// Figure 8: what an engine makes of its drive. Shown once a run knows what the drive itself can do.

import { better, trialsNote, type Drawing, type Figure } from "../drawing";
import { NONE, si } from "../format";
import { rateOf } from "../model";
import type { View } from "../view";
import { barChart, type BarPanel } from "./bars";
import { atThreads, threadsControl } from "./choices";

export const efficiency: Figure = { number: 8, name: "efficiency", draw };

function draw(view: View): Drawing | null {
  const ceilings = view.model.data.ceilings;
  if (view.work.load || ceilings.length === 0) return null;
  const threads = threadsControl(view, "8");
  const cases = atThreads(view, threads).filter((one) => !one.engine.harness);
  const ceilingOf = (role: string) => ceilings.find((ceiling) =>
    (ceiling.role == null || ceiling.role === role) && (ceiling.threads == null || String(ceiling.threads) === threads.value));
  const list: BarPanel[] = view.work.roles.map((role) => ({
    title: role,
    format: (value: number) => `${si(value)} %`,
    bars: cases.flatMap((one) => {
      const rate = rateOf(one, role), ceiling = ceilingOf(role);
      if (rate?.value == null || !ceiling) return [];
      const parts = [{ name: role, value: (100 * rate.value) / ceiling.ops_per_s }];
      return [{ engine: one.engine, parts, range: null, combine: rate.combine }];
    }),
  })).filter((panel) => panel.bars.length > 0);
  if (list.length === 0) return null;
  return {
    title: "Efficiency against the drive",
    note: `Operations a second over what the bare drive does, ${better("higher")}; over 100 % is served from memory. ${trialsNote(view)}.`,
    controls: [threads],
    chart: (width, theme) => barChart(list, width, theme),
    table: () => ({
      head: ["engine", "role", "share of the drive", "drive"],
      words: 2,
      rows: list.flatMap((panel) => panel.bars.map((bar) => [
        bar.engine.name, panel.title, panel.format(bar.parts[0]?.value ?? 0), si(ceilingOf(panel.title)?.ops_per_s ?? 0) || NONE,
      ])),
    }),
  };
}
