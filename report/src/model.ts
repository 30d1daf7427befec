// The summary as figures want it: engines with their colours, workloads, and cases that say which
// of both they are.

import type { Question } from "./ranked";
import type { Group, LoadRow, Metric, PageData, Relative, RoleRow, RunRow } from "./data";
import { bytes, NONE, si } from "./format";
import { HUES, huesOf } from "./hues";

/** An engine with a durability class: what has a colour. */
export interface Engine {
  id: string;
  name: string;
  /** The name without the durability class. */
  title: string;
  durability: string;
  loadGenerator: boolean;
  /** A job of the bare drive: not compared with engines. */
  drive: boolean;
  /** Its place in the suite: the first is what others are held against. */
  order: number;
  /** Which of the hues it has, and whether that is the hue's second use. */
  hue: number;
  again: boolean;
}

/** The same work on the same data with the same RAM, whoever does it with however many threads. */
export interface Work {
  id: string;
  /** What it does, in the words of a heading. */
  name: string;
  /** That without what sets it apart from others of the run. */
  title: string;
  /** In addresses: short, and the same as long as the suite is. */
  key: string;
  phase: string;
  load: boolean;
  /** The bare drive's jobs. */
  drive: boolean;
  /** Without RAM, size of the data, volume and offered rate: what a sweep over those has in common. */
  family: string;
  /** Size of the data and RAM. */
  means: string;
  /** What the database lay on, where the suite names volumes. */
  volume: string | null;
  /** The memory below the limit, where the suite names tiers. */
  tier: string | null;
  /** The part of the suite, where it has any. */
  part: string | null;
  /** What is asked for each second; of a closed loop none. */
  rate: number | null;
  roles: string[];
}

export interface Case {
  /** Place of its group in the summary. */
  index: number;
  group: Group;
  engine: Engine;
  work: Work;
  /** The swept number, or that of all roles of its group's first phase: null of a load. */
  threads: number | null;
  /** The swept number, and nothing where none is swept. */
  swept: number | null;
  load: LoadRow | null;
  run: RunRow | null;
}

export interface Model {
  data: PageData;
  engines: Engine[];
  works: Work[];
  cases: Case[];
  threads: number[];
}

export function model(data: PageData): Model {
  const groups = data.summary.groups;
  const engines = enginesOf(data);
  const parts = groups.flatMap((group) => workParts(group));
  const works = new Map<string, Work>();
  const cases: Case[] = [];
  groups.forEach((group, index) => {
    const engine = engines.find((engine) => engine.id === engineId(group));
    if (!engine) return;
    for (const part of workParts(group)) {
      if (isLost(part, parts)) continue;
      const work = works.get(part.id) ?? makeWork(part, parts, titleOf(data, index, part.phase));
      works.set(part.id, work);
      const threads = part.load ? null : group.threads;
      const swept = part.load ? null : group.threads_swept;
      cases.push({ index, group, engine, work, threads, swept, load: part.load, run: part.run });
    }
  });
  // What the load runs once comes after what is run at each number of threads.
  const sweeps = new Set(cases.flatMap((one) => (one.swept == null || one.work.drive ? [] : [one.work])));
  const once = (work: Work) => !sweeps.has(work) && [...sweeps].some((other) => other.part === work.part);
  const sorted = [...works.values()].sort((a, b) =>
    Number(a.drive) - Number(b.drive) || Number(a.load) - Number(b.load) || Number(once(a)) - Number(once(b)));
  // A drive's jobs have threads of their own: beside engines they are not what is swept.
  const alone = engines.every((engine) => engine.drive || engine.loadGenerator);
  const threads = unique(cases.flatMap((one) => (one.threads == null || (one.engine.drive && !alone) ? [] : [one.threads])));
  // The same order in all figures: that of the ranking.
  const standing = standingsOf(data, cases, sorted);
  const at = (engine: Engine) => (standing.get(engine.id) ?? standing.size) + (engine.drive ? 1e6 : 0);
  const byPlace = (a: Engine, b: Engine) => at(a) - at(b) || a.order - b.order;
  return {
    data, works: sorted, threads: threads.sort((a, b) => a - b),
    engines: [...engines].sort(byPlace), cases: [...cases].sort((a, b) => byPlace(a.engine, b.engine)),
  };
}

/** Of what is measured before it is loaded, the question that its first role answers. */
export function askedOf(data: PageData, works: Work[]): Question | null {
  const all = (data.summary.rankings ?? []).filter((one) => one.main);
  const work = works.find((one) => !one.drive && !one.load) ?? works[0];
  const own = all.filter((one) => one.phase === work?.phase && (one.part ?? null) === work.part && (work.load || one.role === work.roles[0]));
  const asked = own.find((one) => one.figure.endsWith("_per_s")) ?? own[0] ?? all.find((one) => one.question !== "loading") ?? all[0];
  return asked?.question ?? null;
}

/** Where each engine stands by what was asked, a class of durability after the other. */
function standingsOf(data: PageData, cases: Case[], works: Work[]): Map<string, number> {
  const asked = askedOf(data, works), places = new Map<string, number>();
  for (const ranking of data.summary.rankings ?? []) {
    if (!ranking.main || ranking.question !== asked) continue;
    for (const standing of ranking.standings) {
      const engine = cases.find((one) => one.index === standing.group)?.engine;
      if (engine && !places.has(engine.id)) places.set(engine.id, places.size);
    }
  }
  return places;
}

/** What a phase does; its name too where whoever wrote the suite chose one. */
function titleOf(data: PageData, group: number, phase: string): string {
  const title = data.workloads?.find((workload) => workload.group === group && workload.phase === phase)?.title;
  if (!title) return phase;
  return GENERIC.includes(phase) ? title : `${phase}: ${title[0]?.toLowerCase()}${title.slice(1)}`;
}

/** Names that phases have where nobody gave them one. */
const GENERIC = ["load", "measure"];

/** What the suite calls an engine, in whichever part. */
export const withoutPart = ({ label, part }: { label: string; part?: string | null }): string =>
  part && label.endsWith(` ${part}`) ? label.slice(0, -part.length - 1) : label;

export const engineId = (of: { label: string; part?: string | null; durability: string }): string => `${withoutPart(of)}/${of.durability}`;

/** The class is part of the name where the run has several: they never share a name unmarked. */
function enginesOf(data: PageData): Engine[] {
  const some = (id: string, is: (group: Group) => boolean) => data.summary.groups.some((group) => engineId(group) === id && is(group));
  const loadGenerator = (id: string) => some(id, (group) => group.stores_nothing);
  const drive = (id: string) => some(id, (group) => group.bare_drive);
  // An engine in several parts of a suite is one.
  const once = data.summary.engines.filter((info, at, all) => all.findIndex((other) => engineId(other) === engineId(info)) === at);
  const infos = once.sort((a, b) => Number(drive(engineId(a))) - Number(drive(engineId(b))));
  const real = infos.filter((info) => !loadGenerator(engineId(info)) && !drive(engineId(info)));
  const several = new Set(real.map((info) => info.durability)).size > 1;
  const hues = huesOf(real.map((info) => ({ engine: info.engine, label: withoutPart(info), durability: info.durability })));
  // A drive's jobs beside engines have their colours last.
  const own = hues.map(({ hue }) => hue), order = Array.from({ length: HUES }, (_, hue) => hue).sort((a, b) => Number(own.includes(a)) - Number(own.includes(b)) || a - b);
  const jobs = infos.filter((info) => drive(engineId(info)));
  const jobHue = (at: number) => ({ hue: order[at % HUES] ?? 0, again: at >= HUES });
  return infos.map((info) => {
    const id = engineId(info), label = withoutPart(info);
    const isLoadGenerator = loadGenerator(id), isDrive = drive(id);
    const title = label === info.engine ? info.worker?.title ?? label : label;
    return {
      id,
      name: isLoadGenerator ? "load generator" : several && !isDrive ? `${title} (${info.durability})` : title,
      title,
      durability: info.durability,
      loadGenerator: isLoadGenerator,
      drive: isDrive,
      order: data.summary.engines.indexOf(info),
      ...(isDrive ? jobHue(jobs.indexOf(info)) : hues[real.indexOf(info)] ?? { hue: 0, again: false }),
    };
  });
}

interface Part {
  id: string;
  phase: string;
  load: LoadRow | null;
  run: RunRow | null;
  group: Group;
  family: string;
  means: string;
  volume: string | null;
  suitePart: string | null;
  rate: number | null;
  /** Of the bare drive; a load of it is no result. */
  drive: boolean;
}

function workParts(group: Group): Part[] {
  const data = `${group.records} x ${group.key_bytes}+${group.value_bytes_mean}`;
  const means = `${data}, ${group.ram_limit_bytes ?? "-"}, ${group.tier ?? "-"}`;
  const volume = group.volume ?? null, suitePart = group.part ?? null;
  const record = `${group.key_bytes}+${group.value_bytes_mean}`;
  const part = (phase: string, doing: string, load: LoadRow | null, run: RunRow | null): Part => {
    const family = `${phase}|${doing}|${record}`;
    const rate = run?.roles.map((role) => metricOf(role.metrics, "offered_ops_per_s")?.value).find((value) => value != null) ?? null;
    return { id: `${family}|${means}, ${volume ?? "-"}|${suitePart ?? ""}|${rate ?? ""}`, phase, load, run, group, family, means, volume, suitePart, rate, drive: false };
  };
  if (group.bare_drive) {
    const of = (run: RunRow): Part => ({ ...part(run.phase, "drive", null, run), id: `drive|${run.phase}|${group.volume ?? ""}`, family: "drive", means: "", rate: null, drive: true });
    return group.runs.map(of);
  }
  const parts = group.runs.map((run) =>
    part(run.phase, run.roles.map((role) => `${role.role}:${role.mix}`).join(","), null, run));
  if (group.load) parts.unshift(part(group.load.phase, "load", group.load, null));
  return parts;
}

/** An open loop that left no figure does not say which of several rates it was. */
function isLost(part: Part, all: Part[]): boolean {
  const open = part.run?.roles.some((role) => role.open_loop);
  return open === true && part.rate == null && all.some((other) => other.family === part.family && other.rate != null);
}

function makeWork(part: Part, all: Part[], title: string): Work {
  const group = part.group;
  const engines = all.filter((other) => !other.drive);
  if (part.drive) {
    // Its jobs have roles of their own: those that read, those that write.
    const runs = all.filter((other) => other.id === part.id).flatMap((other) => other.run ?? []);
    const roles = unique(runs.flatMap((run) => run.roles.map((role) => role.role)));
    const phases = unique(all.filter((other) => other.drive).map((other) => other.phase));
    const volumes = unique(all.filter((other) => other.drive).map((other) => other.group.volume));
    const name = ["the drive", ...(phases.length < 2 ? [] : [part.phase]), ...(volumes.length < 2 ? [] : [`on ${group.volume}`])].join(", ");
    return { id: part.id, name: name.replace("the drive", "Device limits"), title, key: name, phase: part.phase, load: false, drive: true, family: part.family, means: "", volume: part.volume, tier: part.group.tier ?? null, part: part.suitePart, rate: null, roles };
  }
  const varies = (read: (group: Group) => unknown) => engines.some((other) => read(other.group) !== read(group));
  const names: string[] = [];
  if (varies((g) => `${g.records} ${g.key_bytes} ${g.value_bytes_mean}`)) {
    names.push(`${si(group.records)} × ${group.key_bytes}+${group.value_bytes_mean} B`);
  }
  if (varies((g) => g.ram_limit_bytes)) {
    names.push(group.ram_limit_bytes == null ? "no RAM limit" : `RAM ${bytes(group.ram_limit_bytes)}`);
  }
  if (group.part && varies((g) => g.part)) names.push(`part ${group.part}`);
  if (group.tier && varies((g) => g.tier)) names.push(`with ${group.tier}`);
  if (group.volume && varies((g) => g.volume)) names.push(`on ${group.volume}`);
  if (part.rate != null && all.some((other) => other.family === part.family && other.rate !== part.rate)) {
    names.push(`offered rate ${si(part.rate)}/s`);
  }
  const roles = part.run ? part.run.roles.map((role) => role.role) : ["load"];
  return { id: part.id, name: [title, ...names].join(", "), title, key: [part.phase, ...names].join(", "), phase: part.phase, load: part.load != null, drive: false, family: part.family, means: part.means, volume: part.volume, tier: part.group.tier ?? null, part: part.suitePart, rate: part.rate, roles };
}

export const unique = <T>(items: T[]): T[] => [...new Set(items)];

export function metricOf(metrics: Metric[] | undefined, name: string): Metric | null {
  return metrics?.find((metric) => metric.name === name) ?? null;
}

/** The threads of its phase: the swept number, or those of all its roles where none is swept. */
export function threadsText(one: Case): string {
  if (one.run == null) return NONE;
  return String(one.swept ?? one.run.roles.reduce((sum, role) => sum + role.threads, 0));
}

export function roleOf(one: Case, role: string): RoleRow | null {
  return one.run?.roles.find((row) => row.role === role) ?? null;
}

/** A percentile of a role's latency, or of one of its operations; from the scheduled start where there is one. */
export function tailOf(one: Case, role: string, tail: string, op: string | null = null): Metric | null {
  const row = roleOf(one, role);
  // A role that does nothing else has no operation apart.
  const metrics = op == null || (row?.ops.length === 0 && row.mix === op) ? row?.metrics : row?.ops.find((own) => own.op === op)?.metrics;
  return metricOf(metrics, `${row?.open_loop ? "response" : "service"}_ns_${tail}`);
}

/** The operations whose latency stands for a role: each by itself where it has several, else all (null). Gets from
 * a cache and updates that wait for a flush are not one distribution. */
export function opsApart(cases: Case[], role: string): (string | null)[] {
  const ops = opsOf(cases, role);
  return ops.length > 1 ? ops : [null];
}

/** The operations that a role did in any of these. */
export const opsOf = (cases: Case[], role: string): string[] => unique(cases.flatMap((one) => roleOf(one, role)?.ops.map((row) => row.op) ?? []));

/** The load's rate or a role's: what a case delivered. */
export function rateOf(one: Case, role: string): Metric | null {
  if (one.load) return metricOf(one.load.metrics, "records_per_s");
  return metricOf(roleOf(one, role)?.metrics, "ops_per_s");
}

/** Its rate over that of its base, as the program judged it. */
export const relativeOf = (one: Case, role: string): Relative | null =>
  (one.load ? one.load.relative : roleOf(one, role)?.relative) ?? null;

/** Costs of the whole phase. */
export const costOf = (one: Case, name: string): Metric | null =>
  metricOf((one.load ?? one.run)?.metrics, name);

/** The interval, or below six trials the extremes; none of all trials' samples together. As the program compares. */
export function rangeOf(metric: Metric | null): [low: number, high: number] | null {
  if (!metric || metric.n < 2 || metric.combine === "merged_histograms") return null;
  if (metric.interval) return [metric.interval.low, metric.interval.high];
  return metric.min != null && metric.max != null ? [metric.min, metric.max] : null;
}
