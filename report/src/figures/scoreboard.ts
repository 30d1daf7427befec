// Each engine's figures beside those of the first engine, with how far they are apart in words that
// need no turning round: "37x lower".

import type { Metric, Relative } from "../data";
import { paragraphs, trialsNote, type Drawing, type Figure } from "../drawing";
import { inUnit, NONE } from "../format";
import { ENGINES_MAX } from "../layout";
import { boardElement, boardPicture, cellsOf, type Row } from "./board";
import { costOf, opsApart, rangeOf, rateOf, relativeOf, tailOf, type Case, type Engine } from "../model";
import { atWords, rateWords, tailWords } from "../phrases";
import { threadsOf, withinOf, type View } from "../view";
import { apartOf } from "./mixes";

type Read = (one: Case) => Metric | null;

export const scoreboard: Figure = { name: "scoreboard", draw };

function draw(view: View): Drawing | null {
  const rows = rowsOf(view);
  const base = baseOf(view.engines);
  if (rows.length === 0 || !base || view.work.drive) return null;
  // Where each engine is a row, the rows are in the order of all other figures.
  const engines = view.engines.length > ENGINES_MAX ? view.engines : fromBase(view.engines, base);
  const cells = () => cellsOf(engines, rows, base);
  const several = view.engines.length > 1;
  const apart = rows.find((row) => row.apart)?.apart;
  return {
    title: several ? `Scoreboard: against ${base.name}` : "Scoreboard",
    note: (several ? "▶ better, ◀ worse, ~ undecided, ? too few trials. " : "") + `Medians of ${trialsNote(view)}.`,
    how: paragraphs(several ? "Bars are on a scale of factors, to the right is better. A factor is the geometric mean of the ratios of pairs of trials; undecided: its interval of 99 % holds 1. With fewer than four trials a difference is not sure (?)." : "",
      apart ? `Not comparable: ${apart}.` : ""),
    element: () => boardElement(engines, cells(), base),
    picture: (theme) => boardPicture(engines, cells(), base, theme),
    table: () => ({
      head: ["figure", "better", ...engines.flatMap((engine) => [engine.name, "range", "n"])],
      words: 2,
      rows: rows.map((row) => {
        const any = [...row.metrics.values()].find((metric) => metric);
        return [row.name, any?.direction ?? "", ...engines.flatMap((engine) => figures(row.metrics.get(engine.id) ?? null))];
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

/** The suite's first engine: as the program's own ratios have it. */
const baseOf = (engines: Engine[]): Engine | null => [...engines].sort((a, b) => a.order - b.order)[0] ?? null;

/** What others are held against stands first. */
const fromBase = (engines: Engine[], base: Engine): Engine[] => [base, ...engines.filter((engine) => engine !== base)];

/** Of more operations than this p99 says enough. */
const OPS_MAX = 3;

function rowsOf(view: View): Row[] {
  const rows: Row[] = [];
  const counts = threadsOf(view);
  const add = (name: string, threads: number | null, read: Read, { apart = null, role = null }: { apart?: string | null; role?: string | null } = {}) => {
    const metrics = new Map<string, Metric | null>(), trials = new Map<string, number[]>(), relatives = new Map<string, Relative>();
    const at = (engine: Engine | null) => view.cases.find((one) => one.engine.id === engine?.id && one.threads === threads);
    const base = at(baseOf(view.engines));
    for (const engine of view.engines) {
      const one = at(engine), own = one && role != null ? relativeOf(one, role) : null;
      metrics.set(engine.id, one ? read(one) : null);
      if (one) trials.set(engine.id, one.group.trials.map(({ trial }) => trial));
      if (own && own.base === base?.group.label) relatives.set(engine.id, own);
    }
    if ([...metrics.values()].some((metric) => metric?.value != null)) rows.push({ name, metrics, trials, relatives, within: withinOf(view), apart });
  };
  if (view.work.load) {
    add("Records/s", null, (one) => rateOf(one, "load"), { role: "load" });
    add("Size on the volume", null, (one) => costOf(one, "database_used_bytes"));
    add("Write amplification", null, (one) => costOf(one, "write_amplification"));
    add("CPU time, user", null, (one) => costOf(one, "cpu_user_ns"));
    add("CPU time, system", null, (one) => costOf(one, "cpu_system_ns"));
    add("Context switches", null, (one) => costOf(one, "context_switches_voluntary"));
    return rows;
  }
  const last = counts.at(-1) ?? null;
  const at = (role: string | null, threads: number | null) => (counts.length > 1 && threads != null ? atWords(view, role, threads) : "");
  view.work.roles.forEach((role, place) => {
    // The first role is what is swept; of the others, which stand beside it, the ends of the sweep say enough.
    const shown = counts.length === 0 ? [null] : place === 0 ? counts : [...new Set([counts[0] ?? null, last])];
    for (const threads of shown) add(rateWords(view, role) + at(role, threads), threads, (one) => rateOf(one, role), { role });
  });
  for (const role of view.work.roles) {
    const ops = opsApart(view.cases, role);
    for (const op of ops) {
      for (const [tail, called] of [["p50", "p50"], ["p99", "p99"], ["p99_9", "p99.9"]] as const) {
        if (tail !== "p99" && ops.length > OPS_MAX) continue;
        if (tail === "p99_9" && role !== view.work.roles[0]) continue;
        add(tailWords(view, role, called, op) + at(role, last), last, (one) => tailOf(one, role, tail, op));
      }
    }
  }
  const apart = apartOf(view.cases.filter((one) => one.threads === last));
  add(`CPU per op${at(null, last)}`, last, (one) => costOf(one, "cpu_ns_per_op"), { apart });
  add(`Write amplification${at(null, last)}`, last, (one) => costOf(one, "write_amplification"));
  add(`Space amplification${at(null, last)}`, last, (one) => costOf(one, "space_amplification"));
  return rows;
}
