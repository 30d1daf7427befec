// The summary in the form that figures need: engines with their colours, workloads, and cases that
// refer to both.

import type { Question } from "./ranked";
import type { Group, LoadRow, Metric, PageData, Relative, RoleRow, RunRow } from "./data";
import { formatBytes, NONE, formatSi } from "./format";
import { HUES, assignHues } from "./hues";

/** An engine with a durability class. Each has a colour. */
export interface Engine {
  id: string;
  name: string;
  /** The name without the durability class. */
  title: string;
  durability: string;
  loadGenerator: boolean;
  /** A job of the bare drive: not compared with engines. */
  drive: boolean;
  /** The place in the suite: the first engine is the base of comparisons. */
  order: number;
  /** The index of the hue; `again`: this is the hue's second use. */
  hue: number;
  again: boolean;
}

/** A workload: the same work on the same data with the same RAM, of any engine and number of threads. */
export interface Work {
  id: string;
  /** The heading of the workload. */
  name: string;
  /** The heading without the suffixes that distinguish it from the run's other workloads. */
  title: string;
  /** The short name in addresses, which depends on the suite alone. */
  key: string;
  phase: string;
  load: boolean;
  /** The bare drive's jobs. */
  drive: boolean;
  /** The identity without RAM, data size, volume and offered rate: what a sweep over those has in common. */
  family: string;
  /** Size of the data and RAM. */
  means: string;
  /** The database's volume; null: the suite names no volumes. */
  volume: string | null;
  /** The memory tier; null: the suite names no tiers. */
  tier: string | null;
  /** The part of the suite; null: the suite has no parts. */
  part: string | null;
  /** The offered rate per second; null: a closed loop. */
  rate: number | null;
  roles: string[];
}

export interface Case {
  /** The index of the group in the summary. */
  index: number;
  group: Group;
  engine: Engine;
  work: Work;
  /** The swept number of threads, or that of all roles of the group's first phase; null: a load. */
  threads: number | null;
  /** The swept number of threads; null: none is swept. */
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

export function buildModel(data: PageData): Model {
  const groups = data.summary.groups;
  const engines = listEngines(data);
  const parts = groups.flatMap((group) => workParts(group));
  const works = new Map<string, Work>();
  const cases: Case[] = [];
  groups.forEach((group, index) => {
    const engine = engines.find((engine) => engine.id === engineId(group));
    if (!engine) return;
    for (const part of workParts(group)) {
      if (hasUnknownRate(part, parts)) continue;
      const work = works.get(part.id) ?? createWork(part, parts, phaseTitle(data, index, part.phase));
      works.set(part.id, work);
      const threads = part.load ? null : group.threads;
      const swept = part.load ? null : group.threads_swept;
      cases.push({ index, group, engine, work, threads, swept, load: part.load, run: part.run });
    }
  });
  // Workloads that run once come after those that run at each number of threads.
  const sweeps = new Set(cases.flatMap((one) => (one.swept == null || one.work.drive ? [] : [one.work])));
  const isRunOnce = (work: Work) => !sweeps.has(work) && [...sweeps].some((other) => other.part === work.part);
  const sorted = [...works.values()].sort((a, b) =>
    Number(a.drive) - Number(b.drive) || Number(a.load) - Number(b.load) || Number(isRunOnce(a)) - Number(isRunOnce(b)));
  // A drive's jobs have threads of their own: with engines those are not the swept numbers.
  const isDriveOnly = engines.every((engine) => engine.drive || engine.loadGenerator);
  const threads = unique(cases.flatMap((one) => (one.threads == null || (one.engine.drive && !isDriveOnly) ? [] : [one.threads])));
  // All figures have the order of the ranking.
  const standing = enginePlaces(data, cases, sorted);
  const enginePlace = (engine: Engine) => (standing.get(engine.id) ?? standing.size) + (engine.drive ? 1e6 : 0);
  const comparePlaces = (a: Engine, b: Engine) => enginePlace(a) - enginePlace(b) || a.order - b.order;
  return {
    data, works: sorted, threads: threads.sort((a, b) => a - b),
    engines: [...engines].sort(comparePlaces), cases: [...cases].sort((a, b) => comparePlaces(a.engine, b.engine)),
  };
}

/** Returns the main question: that of the first role of the first measured workload, else of another ranking. */
export function mainQuestion(data: PageData, works: Work[]): Question | null {
  const all = (data.summary.rankings ?? []).filter((one) => one.main);
  const work = works.find((one) => !one.drive && !one.load) ?? works[0];
  const candidates = all.filter((one) => one.phase === work?.phase && (one.part ?? null) === work.part && (work.load || one.role === work.roles[0]));
  const mainRanking = candidates.find((one) => one.figure.endsWith("_per_s")) ?? candidates[0] ?? all.find((one) => one.question !== "loading") ?? all[0];
  return mainRanking?.question ?? null;
}

/** Returns each engine's place by the main question, one durability class after the other. */
function enginePlaces(data: PageData, cases: Case[], works: Work[]): Map<string, number> {
  const question = mainQuestion(data, works), places = new Map<string, number>();
  for (const ranking of data.summary.rankings ?? []) {
    if (!ranking.main || ranking.question !== question) continue;
    for (const standing of ranking.standings) {
      const engine = cases.find((one) => one.index === standing.group)?.engine;
      if (engine && !places.has(engine.id)) places.set(engine.id, places.size);
    }
  }
  return places;
}

/** Returns the title of a phase, with its name if the suite's author chose one. */
function phaseTitle(data: PageData, group: number, phase: string): string {
  const title = data.workloads?.find((workload) => workload.group === group && workload.phase === phase)?.title;
  if (!title) return phase;
  return GENERIC.includes(phase) ? title : `${phase}: ${title[0]?.toLowerCase()}${title.slice(1)}`;
}

/** Default names of phases. */
const GENERIC = ["load", "measure"];

/** Returns an engine's label without the part of the suite. */
export const labelWithoutPart = ({ label, part }: { label: string; part?: string | null }): string =>
  part && label.endsWith(` ${part}`) ? label.slice(0, -part.length - 1) : label;

export const engineId = (info: { label: string; part?: string | null; durability: string }): string => `${labelWithoutPart(info)}/${info.durability}`;

/** Lists the engines. If the run has several durability classes, the class is part of the name. */
function listEngines(data: PageData): Engine[] {
  const someGroup = (id: string, matches: (group: Group) => boolean) => data.summary.groups.some((group) => engineId(group) === id && matches(group));
  const storesNothing = (id: string) => someGroup(id, (group) => group.stores_nothing);
  const isBareDrive = (id: string) => someGroup(id, (group) => group.bare_drive);
  // An engine in several parts of a suite is one engine.
  const once = data.summary.engines.filter((info, at, all) => all.findIndex((other) => engineId(other) === engineId(info)) === at);
  const infos = once.sort((a, b) => Number(isBareDrive(engineId(a))) - Number(isBareDrive(engineId(b))));
  const real = infos.filter((info) => !storesNothing(engineId(info)) && !isBareDrive(engineId(info)));
  const several = new Set(real.map((info) => info.durability)).size > 1;
  const hues = assignHues(real.map((info) => ({ engine: info.engine, label: labelWithoutPart(info), durability: info.durability })));
  // With engines, the drive's jobs take the hues that are left.
  const usedHues = hues.map(({ hue }) => hue), order = Array.from({ length: HUES }, (_, hue) => hue).sort((a, b) => Number(usedHues.includes(a)) - Number(usedHues.includes(b)) || a - b);
  const jobs = infos.filter((info) => isBareDrive(engineId(info)));
  const jobHue = (at: number) => ({ hue: order[at % HUES] ?? 0, again: at >= HUES });
  return infos.map((info) => {
    const id = engineId(info), label = labelWithoutPart(info);
    const isLoadGenerator = storesNothing(id), isDrive = isBareDrive(id);
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
  /** Whether it is of the bare drive, whose load is no result. */
  drive: boolean;
}

function workParts(group: Group): Part[] {
  const data = `${group.records} x ${group.key_bytes}+${group.value_bytes_mean}`;
  const means = `${data}, ${group.ram_limit_bytes ?? "-"}, ${group.tier ?? "-"}`;
  const volume = group.volume ?? null, suitePart = group.part ?? null;
  const record = `${group.key_bytes}+${group.value_bytes_mean}`;
  const createPart = (phase: string, doing: string, load: LoadRow | null, run: RunRow | null): Part => {
    const family = `${phase}|${doing}|${record}`;
    const rate = run?.roles.map((role) => findMetric(role.metrics, "offered_ops_per_s")?.value).find((value) => value != null) ?? null;
    return { id: `${family}|${means}, ${volume ?? "-"}|${suitePart ?? ""}|${rate ?? ""}`, phase, load, run, group, family, means, volume, suitePart, rate, drive: false };
  };
  if (group.bare_drive) {
    const drivePart = (run: RunRow): Part => ({ ...createPart(run.phase, "drive", null, run), id: `drive|${run.phase}|${group.volume ?? ""}`, family: "drive", means: "", rate: null, drive: true });
    return group.runs.map(drivePart);
  }
  const parts = group.runs.map((run) =>
    createPart(run.phase, run.roles.map((role) => `${role.role}:${role.mix}`).join(","), null, run));
  if (group.load) parts.unshift(createPart(group.load.phase, "load", group.load, null));
  return parts;
}

/** Whether a part is an open loop without figures, so that its rate is unknown among several. */
function hasUnknownRate(part: Part, all: Part[]): boolean {
  const open = part.run?.roles.some((role) => role.open_loop);
  return open === true && part.rate == null && all.some((other) => other.family === part.family && other.rate != null);
}

function createWork(part: Part, all: Part[], title: string): Work {
  const group = part.group;
  const engines = all.filter((other) => !other.drive);
  if (part.drive) {
    // The drive's jobs have roles of their own, for reads and for writes.
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
    names.push(`${formatSi(group.records)} × ${group.key_bytes}+${group.value_bytes_mean} B`);
  }
  if (varies((g) => g.ram_limit_bytes)) {
    names.push(group.ram_limit_bytes == null ? "no RAM limit" : `RAM ${formatBytes(group.ram_limit_bytes)}`);
  }
  if (group.part && varies((g) => g.part)) names.push(`part ${group.part}`);
  if (group.tier && varies((g) => g.tier)) names.push(`with ${group.tier}`);
  if (group.volume && varies((g) => g.volume)) names.push(`on ${group.volume}`);
  if (part.rate != null && all.some((other) => other.family === part.family && other.rate !== part.rate)) {
    names.push(`offered rate ${formatSi(part.rate)}/s`);
  }
  const roles = part.run ? part.run.roles.map((role) => role.role) : ["load"];
  return { id: part.id, name: [title, ...names].join(", "), title, key: [part.phase, ...names].join(", "), phase: part.phase, load: part.load != null, drive: false, family: part.family, means: part.means, volume: part.volume, tier: part.group.tier ?? null, part: part.suitePart, rate: part.rate, roles };
}

export const unique = <T>(items: T[]): T[] => [...new Set(items)];

export function findMetric(metrics: Metric[] | undefined, name: string): Metric | null {
  return metrics?.find((metric) => metric.name === name) ?? null;
}

/** Returns the threads of a case's phase: the swept number, or the sum over its roles if none is swept. */
export function threadsText(one: Case): string {
  if (one.run == null) return NONE;
  return String(one.swept ?? one.run.roles.reduce((sum, role) => sum + role.threads, 0));
}

export function findRole(one: Case, role: string): RoleRow | null {
  return one.run?.roles.find((row) => row.role === role) ?? null;
}

/** Returns a percentile of the latency of a role, or of one of its operations. In an open loop the latency starts at the
 * scheduled time. */
export function tailMetric(one: Case, role: string, tail: string, op: string | null = null): Metric | null {
  const row = findRole(one, role);
  // A role with one operation has no metrics by operation.
  const metrics = op == null || (row?.ops.length === 0 && row.mix === op) ? row?.metrics : row?.ops.find((own) => own.op === op)?.metrics;
  return findMetric(metrics, `${row?.open_loop ? "response" : "service"}_ns_${tail}`);
}

/** Returns the operations whose latencies are shown separately: each of several, else null, for all together. Gets from
 * a cache and updates that wait for a flush are not one distribution. */
export function latencyOps(cases: Case[], role: string): (string | null)[] {
  const ops = roleOps(cases, role);
  return ops.length > 1 ? ops : [null];
}

/** Returns the operations that a role did in any of these cases. */
export const roleOps = (cases: Case[], role: string): string[] => unique(cases.flatMap((one) => findRole(one, role)?.ops.map((row) => row.op) ?? []));

/** Returns the measured rate of the load or of a role. */
export function rateMetric(one: Case, role: string): Metric | null {
  if (one.load) return findMetric(one.load.metrics, "records_per_s");
  return findMetric(findRole(one, role)?.metrics, "ops_per_s");
}

/** Returns the rate relative to the base's, as the program judged it. */
export const relativeRate = (one: Case, role: string): Relative | null =>
  (one.load ? one.load.relative : findRole(one, role)?.relative) ?? null;

/** Whether a role works on a schedule, so that its rate is the suite's. */
export const isScheduled = (cases: Case[], role: string): boolean => cases.some((one) => findRole(one, role)?.open_loop);

/** Returns the p99 of response times relative to the base's, as the program judged it. */
export function relativeResponse(one: Case, role: string, op: string | null): Relative | null {
  const row = findRole(one, role);
  return row?.ops.find((own) => own.op === op)?.relative_response ?? row?.relative_response ?? null;
}

/** Returns the phase and that of the settling after it, in which its writes end. */
export const phasesUntilSettled = (one: Case): string[] => [one.work.phase, (one.load ?? one.run)?.settle].flatMap((phase) => phase ?? []);

/** Returns a metric of the whole phase. */
export const costMetric = (one: Case, name: string): Metric | null =>
  findMetric((one.load ?? one.run)?.metrics, name);

/** Returns `1 trial`, `4 trials`, `all trials merged`. */
export const describeTrials = ({ combine, n }: Metric): string =>
  (combine === "merged_histograms" ? "all trials merged" : `${n} trial${n === 1 ? "" : "s"}`);

/** Returns the interval, or the extremes below six trials, like the program; null for merged histograms. */
export function metricRange(metric: Metric | null): [low: number, high: number] | null {
  if (!metric || metric.n < 2 || metric.combine === "merged_histograms") return null;
  if (metric.interval) return [metric.interval.low, metric.interval.high];
  return metric.min != null && metric.max != null ? [metric.min, metric.max] : null;
}
