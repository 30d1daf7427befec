// Figure: each engine's figures next to the first engine's, with the difference as a factor of at least
// one: "37x lower".

import type { Group, Metric, Relative } from "../data";
import { nonEmptyTexts, trialsNote, type Drawing, type Figure } from "../drawing";
import { formatValue, NONE } from "../format";
import { ENGINES_MAX } from "../layout";
import { boardElement, boardPicture, boardRows, type Row } from "./board";
import {
  costMetric, isScheduled, latencyOps, metricRange, rateMetric, relativeRate, relativeResponse, tailMetric, unique, type Case, type Engine,
} from "../model";
import { flawNote, threadsSuffix, rateLabel, tailLabel } from "../phrases";
import { threadCounts, type View } from "../view";
import { incomparableReason } from "./mixes";

type Read = (one: Case) => Metric | null;

/** How a row's figures are compared. */
interface Judgement {
  /** Why they are not. */
  incomparable?: string | null;
  /** Returns the program's verdict on a case's figure; null: it has none. */
  judged?: (one: Case) => Relative | null;
  /** Whether the figure is the size of the data. */
  size?: boolean;
}

/** Why the rate of a schedule is not compared. */
const SCHEDULED = "the rate is that of a schedule";

export const scoreboard: Figure = { name: "scoreboard", draw };

function draw(view: View): Drawing | null {
  const rows = scoreboardRows(view);
  const base = baseEngine(view.engines);
  if (rows.length === 0 || !base || view.work.drive) return null;
  // With a row per engine, the rows have the order of all other figures.
  const engines = view.engines.length > ENGINES_MAX ? view.engines : baseFirst(view.engines, base);
  const buildBoard = () => boardRows(engines, rows, base);
  const several = view.engines.length > 1;
  const incomparable = unique(rows.flatMap((row) => (row.incomparable ? [`${row.name} (${row.incomparable})`] : [])));
  return {
    title: several ? `Scoreboard: against ${base.name}` : "Scoreboard",
    note: (several ? "▶ better, ◀ worse, ~ undecided, ? too few trials. " : "") + `Medians of ${trialsNote(view)}.${flawNote(view)}`,
    how: nonEmptyTexts(several ? "Bars are on a scale of factors, to the right is better. A factor is the geometric mean of the ratios of pairs of trials; undecided: its interval of 99 % holds 1. With fewer than four trials a difference is not sure (?)." : "",
      incomparable.length > 0 ? `Not comparable: ${incomparable.join("; ")}.` : ""),
    element: () => boardElement(engines, buildBoard(), base),
    picture: (theme) => boardPicture(engines, buildBoard(), base, theme),
    table: () => ({
      head: ["figure", "better", ...engines.flatMap((engine) => [engine.name, "range", "n"])],
      words: 2,
      rows: rows.map((row) => {
        const firstMetric = [...row.metrics.values()].find((metric) => metric);
        return [row.name, firstMetric?.direction ?? "", ...engines.flatMap((engine) => metricCells(row.metrics.get(engine.id) ?? null))];
      }),
    }),
  };
}

function metricCells(metric: Metric | null): string[] {
  const range = metricRange(metric);
  const unit = metric?.unit ?? "";
  return [
    metric?.value == null ? metric?.missing ?? NONE : formatValue(metric.value, unit),
    range ? `${formatValue(range[0], unit)} to ${formatValue(range[1], unit)}` : NONE,
    String(metric?.n ?? 0),
  ];
}

/** Returns the suite's first engine, which is also the base of the program's ratios. */
const baseEngine = (engines: Engine[]): Engine | null => [...engines].sort((a, b) => a.order - b.order)[0] ?? null;

/** Puts the base first. */
const baseFirst = (engines: Engine[], base: Engine): Engine[] => [base, ...engines.filter((engine) => engine !== base)];

/** The most operations for which p50 and p99.9 are shown, too. */
const OPS_MAX = 3;

function scoreboardRows(view: View): Row[] {
  const rows: Row[] = [];
  const counts = threadCounts(view);
  const addRow = (name: string, threads: number | null, read: Read, { incomparable = null, judged = () => null, size = false }: Judgement = {}) => {
    const metrics = new Map<string, Metric | null>(), groups = new Map<string, Group>();
    const relatives = new Map<string, Relative>(), uncompared = new Set<string>();
    const findCase = (engine: Engine | null) => view.cases.find((one) => one.engine.id === engine?.id && one.threads === threads);
    const base = findCase(baseEngine(view.engines));
    // Data has its size, however it was written; other figures are compared where the rate of a role is.
    const roles = size ? [] : view.work.load ? ["load"] : view.work.roles;
    const findRelative = (one: Case | undefined) => (one ? roles.map((role) => relativeRate(one, role)).find((relative) => relative != null) : null);
    for (const engine of view.engines) {
      const one = findCase(engine), relative = one ? judged(one) : null;
      metrics.set(engine.id, one ? read(one) : null);
      if (one) groups.set(engine.id, one.group);
      if (relative && relative.base === base?.group.label) relatives.set(engine.id, relative);
      // A filter may hide the base: engines that have the same one did the same work.
      const own = findRelative(one);
      if (roles.length > 0 && (!own || own.base !== findRelative(base)?.base)) uncompared.add(engine.id);
    }
    if ([...metrics.values()].some((metric) => metric?.value != null)) rows.push({ name, metrics, groups, relatives, uncompared, incomparable });
  };
  if (view.work.load) {
    addRow("Records/s", null, (one) => rateMetric(one, "load"), { judged: (one) => relativeRate(one, "load") });
    addRow("Size on the volume", null, (one) => costMetric(one, "database_used_bytes"), { size: true });
    addRow("Write amplification", null, (one) => costMetric(one, "write_amplification"));
    addRow("CPU time, user", null, (one) => costMetric(one, "cpu_user_ns"));
    addRow("CPU time, system", null, (one) => costMetric(one, "cpu_system_ns"));
    addRow("Context switches", null, (one) => costMetric(one, "context_switches_voluntary"));
    return rows;
  }
  const last = counts.at(-1) ?? null;
  const suffixAt = (role: string | null, threads: number | null) => (counts.length > 1 && threads != null ? threadsSuffix(view, role, threads) : "");
  view.work.roles.forEach((role, place) => {
    // The first role is swept. For the others, which run next to it, the ends of the sweep are enough.
    const shownCounts = counts.length === 0 ? [null] : place === 0 ? counts : [...new Set([counts[0] ?? null, last])];
    const judgement: Judgement = view.engines.length > 1 && isScheduled(view.cases, role) ? { incomparable: SCHEDULED } : { judged: (one) => relativeRate(one, role) };
    for (const threads of shownCounts) addRow(rateLabel(view, role) + suffixAt(role, threads), threads, (one) => rateMetric(one, role), judgement);
  });
  for (const role of view.work.roles) {
    const ops = latencyOps(view.cases, role);
    for (const op of ops) {
      for (const [tail, tailName] of [["p50", "p50"], ["p99", "p99"], ["p99_9", "p99.9"]] as const) {
        if (tail !== "p99" && ops.length > OPS_MAX) continue;
        if (tail === "p99_9" && role !== view.work.roles[0]) continue;
        addRow(tailLabel(view, role, tailName, op) + suffixAt(role, last), last, (one) => tailMetric(one, role, tail, op), { judged: (one) => (tail === "p99" ? relativeResponse(one, role, op) : null) });
      }
    }
  }
  const incomparable = incomparableReason(view.cases.filter((one) => one.threads === last));
  addRow(`CPU per op${suffixAt(null, last)}`, last, (one) => costMetric(one, "cpu_ns_per_op"), { incomparable });
  addRow(`Write amplification${suffixAt(null, last)}`, last, (one) => costMetric(one, "write_amplification"));
  addRow(`Space amplification${suffixAt(null, last)}`, last, (one) => costMetric(one, "space_amplification"), { size: true });
  return rows;
}
