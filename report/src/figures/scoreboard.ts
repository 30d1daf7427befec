// Each engine's figures beside those of the first engine, with how far they are apart in words that
// need no turning round: "37x lower".

import type { Metric } from "../data";
import { trialsNote, type Drawing, type Figure } from "../drawing";
import { inUnit, NONE } from "../format";
import { boardElement, boardPicture, cellsOf, type Row } from "./board";
import { costOf, rangeOf, rateOf, type Case, type Engine } from "../model";
import { threadsOf, type View } from "../view";
import { tailOf } from "./latency";
import { apartOf } from "./mixes";
import { rateWords } from "./overview";

type Read = (one: Case) => Metric | null;

export const scoreboard: Figure = { name: "scoreboard", draw };

function draw(view: View): Drawing | null {
  const rows = rowsOf(view);
  const base = baseOf(view);
  if (rows.length === 0 || !base || view.work.drive) return null;
  const cells = () => cellsOf(view.engines, rows, base);
  const several = view.engines.length > 1;
  const apart = rows.find((row) => row.apart)?.apart;
  return {
    title: several ? `Scoreboard: against ${base.name}` : "Scoreboard",
    note: (several ? "▶ and a bar to the right: better; ◀ and to the left: worse, on a scale of factors; ~ undecided; ? too few trials (below four). " : "")
      + `Medians of ${trialsNote(view)}.${apart ? ` Not comparable: ${apart}.` : ""}`,
    element: () => boardElement(view.engines, cells(), base),
    picture: (theme) => boardPicture(view.engines, cells(), base, theme),
    table: () => ({
      head: ["figure", "better", ...view.engines.flatMap((engine) => [engine.name, "range", "n"])],
      words: 2,
      rows: rows.map((row) => {
        const any = [...row.metrics.values()].find((metric) => metric);
        return [row.name, any?.direction ?? "", ...view.engines.flatMap((engine) => figures(row.metrics.get(engine.id) ?? null))];
      }),
    }),
  };
}

function figures(metric: Metric | null): string[] {
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
  const add = (name: string, threads: number | null, read: Read, apart: string | null = null) => {
    const metrics = new Map<string, Metric | null>();
    for (const engine of view.engines) {
      const one = view.cases.find((one) => one.engine.id === engine.id && one.threads === threads);
      metrics.set(engine.id, one ? read(one) : null);
    }
    if ([...metrics.values()].some((metric) => metric?.value != null)) rows.push({ name, metrics, apart });
  };
  if (view.work.load) {
    add("Records a second", null, (one) => rateOf(one, "load"));
    add("Size on the volume", null, (one) => costOf(one, "database_allocated_bytes"));
    add("Write amplification", null, (one) => costOf(one, "write_amplification"));
    add("CPU time, user", null, (one) => costOf(one, "cpu_user_ns"));
    add("CPU time, system", null, (one) => costOf(one, "cpu_system_ns"));
    add("Context switches", null, (one) => costOf(one, "context_switches_voluntary"));
    return rows;
  }
  const last = counts.at(-1) ?? null;
  const several = counts.length > 1;
  const words = (threads: number | null) => (several && threads != null ? `, ${threads} thread${threads === 1 ? "" : "s"}` : "");
  view.work.roles.forEach((role, place) => {
    // The first role is what is swept; of the others, which stand beside it, the ends of the sweep say enough.
    const shown = counts.length === 0 ? [null] : place === 0 ? counts : [...new Set([counts[0] ?? null, last])];
    const beside = (threads: number | null) => (several && threads != null ? `, beside ${threads}` : "");
    for (const threads of shown) add(rateWords(view, role) + (place === 0 ? words(threads) : beside(threads)), threads, (one) => rateOf(one, role));
  });
  const at = several ? ` at ${last}` : "";
  for (const role of view.work.roles) {
    const of = view.work.roles.length > 1 ? `, ${role}` : "";
    for (const [tail, called] of [["p50", "p50"], ["p99", "p99"], ["p99_9", "p99.9"]] as const) {
      if (tail === "p99_9" && role !== view.work.roles[0]) continue;
      add(`${called}${of}${at}`, last, (one) => tailOf(one, role, tail));
    }
  }
  const apart = apartOf(view.cases.filter((one) => one.threads === last));
  add(`CPU an operation${at}`, last, (one) => costOf(one, "cpu_ns_per_op"), apart);
  add(`Write amplification${at}`, last, (one) => costOf(one, "write_amplification"));
  add(`Space amplification${at}`, last, (one) => costOf(one, "space_amplification"));
  return rows;
}
