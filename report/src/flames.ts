// Call trees of sampled stacks, and how they are laid out.

/** Whose code a function is. */
export type Origin = "engine" | "load_generator" | "system" | "kernel";

/** Whose threads they are. */
export type Owner = "role" | "engine" | "server" | "load_generator";

/** The call tree of threads of one kind in a phase of a group, all trials together. */
export interface Flame {
  group: number;
  phase: string;
  threads: string;
  owner: Owner;
  trials: number;
  rate_hz: number;
  samples: number;
  /** Samples with a stack that was not unwound to the thread's start. */
  cut: number;
  lost: number;
  operations: number;
  functions: FlameFunction[];
  /** Caller by index or -1, function by index, whose code, samples in all, samples of its own; callers first. */
  calls: [number, number, Origin, number, number][];
}

export interface FlameFunction {
  name: string;
  module: string;
}

/** The profiles of both sides of a comparison. */
export interface ProfilePair {
  pair: string;
  phase: string;
  threads: string;
  owner: Owner;
  base: Flame;
  new: Flame;
  moved: MovedFunction[];
}

export interface MovedFunction {
  name: string;
  origin: Origin;
  base_share: number;
  new_share: number;
  base_ns_per_op: number | null;
  new_ns_per_op: number | null;
}

/** A function, called on one path. */
export interface Call {
  name: string;
  module: string;
  /** Null: all threads. */
  origin: Origin | null;
  total: number;
  own: number;
  depth: number;
  caller: Call | null;
  callees: Call[];
  /** Where it begins, as a share of all samples. */
  start: number;
  /** Its share of the other side's samples; null: nothing is compared. */
  other: number | null;
}

/** The whole tree; `other`: what it is compared with. */
export function treeOf(flame: Flame, other: Flame | null = null): Call {
  const root: Call = { name: "all", module: "", origin: null, total: flame.samples, own: 0, depth: 0, caller: null, callees: [], start: 0, other: other ? 1 : null };
  const calls: Call[] = [];
  for (const [from, number, origin, total, own] of flame.calls) {
    const caller = calls[from] ?? root, { name, module } = flame.functions[number] ?? { name: "?", module: "" };
    const call: Call = { name, module, origin, total, own, depth: caller.depth + 1, caller, callees: [], start: 0, other: null };
    caller.callees.push(call);
    calls.push(call);
  }
  if (other) {
    // The same functions of two builds are in two files: by name alone.
    const theirs = new Map<string, number>();
    for (const call of listed(treeOf(other))) theirs.set(pathOf(call), (theirs.get(pathOf(call)) ?? 0) + shareOf(call, other.samples));
    for (const call of calls) call.other = theirs.get(pathOf(call)) ?? 0;
  }
  place(root, flame.samples);
  return root;
}

/** Names in order, so that a function stands at the same place in two pictures. */
function place(call: Call, samples: number): void {
  call.callees.sort((a, b) => (a.name < b.name ? -1 : 1));
  let start = call.start;
  for (const callee of call.callees) {
    callee.start = start;
    start += shareOf(callee, samples);
    place(callee, samples);
  }
}

/** A call and all below it, callers first. */
export const listed = (call: Call): Call[] => [call, ...call.callees.flatMap(listed)];

export const shareOf = (call: Call, samples: number): number => (samples > 0 ? call.total / samples : 0);

/** Its callers, outermost first. */
export const callersOf = (call: Call): Call[] => (call.caller ? [...callersOf(call.caller), call.caller] : []);

const pathOf = (call: Call): string => [...callersOf(call), call].map((one) => one.name).join("\n");

export interface Sum {
  name: string;
  module: string;
  origin: Origin | null;
  own: number;
  total: number;
}

/** Each function in whatever path, most samples of its own first. */
export function functionsOf(root: Call): Sum[] {
  const sums = new Map<string, Sum>();
  for (const call of listed(root).slice(1)) {
    const key = `${call.name}\n${call.module}`;
    const sum = sums.get(key) ?? { name: call.name, module: call.module, origin: call.origin, own: 0, total: 0 };
    sum.own += call.own;
    // What calls itself is in the total of the outer call.
    if (!callersOf(call).some((one) => one.name === call.name && one.module === call.module)) sum.total += call.total;
    sums.set(key, sum);
  }
  return [...sums.values()].sort((a, b) => b.own - a.own || b.total - a.total);
}

/** The share of samples in functions whose names have the text, none twice. */
export function matched(root: Call, text: string): { calls: Set<Call>; share: number } {
  const calls = new Set<Call>(), wanted = text.toLowerCase();
  if (wanted === "") return { calls, share: 0 };
  let total = 0;
  const look = (call: Call, within: boolean): void => {
    const is = call.caller != null && call.name.toLowerCase().includes(wanted);
    if (is) calls.add(call);
    if (is && !within) total += call.total;
    call.callees.forEach((callee) => look(callee, within || is));
  };
  look(root, false);
  return { calls, share: shareOf({ ...root, total }, root.total) };
}

/** CPU time per operation of so many samples. */
export function nsPerOp(flame: Flame, samples: number): number | null {
  return flame.operations > 0 && flame.rate_hz > 0 ? (samples * 1e9) / flame.rate_hz / flame.operations : null;
}
