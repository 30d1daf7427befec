// Figure 1: each engine's figures beside the base engine's, which is 1.00.
//
// Bars grow from the middle: to the right is better, whichever way the figure itself is better, and
// twice as good is as long as half as good.

import type { Metric } from "../data";
import { trialsNote, type Drawing, type Figure } from "../drawing";
import { inUnit, NONE } from "../format";
import { boardElement, boardPicture, cellsOf, type Row } from "./board";
import { costOf, metricOf, rangeOf, rateOf, roleOf, type Case, type Engine } from "../model";
import { threadsOf, type View } from "../view";

type Read = (one: Case) => Metric | null;

export const scoreboard: Figure = { number: 1, name: "scoreboard", draw };

function draw(view: View): Drawing | null {
  const rows = rowsOf(view);
  const base = baseOf(view);
  if (rows.length === 0 || !base) return null;
  return {
    title: `${view.work.name}: beside ${base.name} = 1.00`,
    note: "A bar to the right is better, to the left worse, whichever way the figure itself is better; on a scale of factors. "
      + `~ : cannot be told apart; ? : fewer than four trials, too few to be sure${view.work.load ? "" : "; @ : the number of threads that is swept"}. ${trialsNote(view)}.`,
    element: (theme) => boardElement(view.engines, cellsOf(view.engines, rows, base), theme),
    picture: (theme) => boardPicture(view.engines, cellsOf(view.engines, rows, base), theme),
    table: () => ({
      head: ["figure", "better", ...view.engines.flatMap((engine) => [engine.name, "range", "n"])],
      words: 2,
      rows: rows.map((row) => {
        const any = [...row.metrics.values()].find((metric) => metric);
        return [row.name, any?.direction ?? "", ...view.engines.flatMap((engine) => cells(row.metrics.get(engine.id) ?? null))];
      }),
    }),
  };
}

function cells(metric: Metric | null): string[] {
  const range = rangeOf(metric);
  const unit = metric?.unit ?? "";
  return [
    metric?.value == null ? metric?.missing ?? NONE : inUnit(metric.value, unit),
    range ? `${inUnit(range[0], unit)} to ${inUnit(range[1], unit)}` : NONE,
    String(metric?.n ?? 0),
  ];
}

/** The first engine that has figures: as the program's own ratios have it. */
const baseOf = (view: View): Engine | null => view.engines[0] ?? null;

function rowsOf(view: View): Row[] {
  const rows: Row[] = [];
  const counts = threadsOf(view);
  const add = (name: string, threads: number | null, read: Read) => {
    const metrics = new Map<string, Metric | null>();
    for (const engine of view.engines) {
      const one = view.cases.find((one) => one.engine.id === engine.id && one.threads === threads);
      metrics.set(engine.id, one ? read(one) : null);
    }
    if ([...metrics.values()].some((metric) => metric?.value != null)) rows.push({ name, metrics });
  };
  if (view.work.load) {
    add("records a second", null, (one) => rateOf(one, "load"));
    add("CPU time, user", null, (one) => costOf(one, "cpu_user_ns"));
    add("CPU time, system", null, (one) => costOf(one, "cpu_system_ns"));
    add("context switches", null, (one) => costOf(one, "context_switches_voluntary"));
    add("write amplification", null, (one) => costOf(one, "write_amplification"));
    add("space amplification", null, (one) => costOf(one, "space_amplification"));
    return rows;
  }
  for (const role of view.work.roles) {
    for (const threads of counts.length ? counts : [null]) {
      const at = threads == null || counts.length < 2 ? "" : ` @ ${threads}`;
      add(`${role} ops/s${at}`, threads, (one) => rateOf(one, role));
    }
  }
  const last = counts.at(-1) ?? null;
  const at = counts.length < 2 ? "" : ` @ ${last}`;
  for (const role of view.work.roles) {
    const tail = (one: Case, name: string) => {
      const row = roleOf(one, role);
      return metricOf(row?.metrics, `${row?.open_loop ? "response" : "service"}_ns_${name}`);
    };
    add(`${role} p50${at}`, last, (one) => tail(one, "p50"));
    add(`${role} p99.9${at}`, last, (one) => tail(one, "p99_9"));
  }
  add(`CPU per op${at}`, last, (one) => costOf(one, "cpu_ns_per_op"));
  add(`written per op${at}`, last, (one) => costOf(one, "device_write_bytes_per_op"));
  add(`read per op${at}`, last, (one) => costOf(one, "device_read_bytes_per_op"));
  add(`space amplification${at}`, last, (one) => costOf(one, "space_amplification"));
  return rows;
}
