// Call trees of sampled stacks, and their layout.

/** The owner of a function's code. */
export type Origin = "engine" | "load_generator" | "system" | "kernel";

/** The owner of threads. */
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
  /** The caller's index or -1, the function's index, the code's owner, total samples, own samples; callers first. */
  calls: [number, number, Origin, number, number][];
}

export interface FlameFunction {
  name: string;
  module: string;
}

/** The profiles of both sides of a comparison, of threads of one kind. */
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

/** A function on one call path. */
export interface Call {
  name: string;
  module: string;
  /** The owner of the code; null: the root, which is all threads. */
  origin: Origin | null;
  total: number;
  own: number;
  depth: number;
  caller: Call | null;
  callees: Call[];
  /** The position of the left edge, as a share of all samples. */
  start: number;
  /** The call's share of the other side's samples; null: no comparison. */
  other: number | null;
}

/** Builds the call tree; `other` is the profile to compare it with. */
export function buildTree(flame: Flame, other: Flame | null = null): Call {
  const root: Call = { name: "all", module: "", origin: null, total: flame.samples, own: 0, depth: 0, caller: null, callees: [], start: 0, other: other ? 1 : null };
  const calls: Call[] = [];
  for (const [from, number, origin, total, own] of flame.calls) {
    const caller = calls[from] ?? root, { name, module } = flame.functions[number] ?? { name: "?", module: "" };
    const call: Call = { name, module, origin, total, own, depth: caller.depth + 1, caller, callees: [], start: 0, other: null };
    caller.callees.push(call);
    calls.push(call);
  }
  if (other) {
    // Matched by name alone: two builds have the same function in different files.
    const otherShares = new Map<string, number>();
    for (const call of listCalls(buildTree(other))) otherShares.set(callPath(call), (otherShares.get(callPath(call)) ?? 0) + callShare(call, other.samples));
    for (const call of calls) call.other = otherShares.get(callPath(call)) ?? 0;
  }
  placeCallees(root, flame.samples);
  return root;
}

/** Places callees in the order of their names, so that a function has the same place in two pictures. */
function placeCallees(call: Call, samples: number): void {
  call.callees.sort((a, b) => (a.name < b.name ? -1 : 1));
  let start = call.start;
  for (const callee of call.callees) {
    callee.start = start;
    start += callShare(callee, samples);
    placeCallees(callee, samples);
  }
}

/** Returns a call and all calls below it, callers first. */
export const listCalls = (call: Call): Call[] => [call, ...call.callees.flatMap(listCalls)];

export const callShare = (call: Call, samples: number): number => (samples > 0 ? call.total / samples : 0);

/** Returns a call's callers, outermost first. */
export const listCallers = (call: Call): Call[] => (call.caller ? [...listCallers(call.caller), call.caller] : []);

const callPath = (call: Call): string => [...listCallers(call), call].map((one) => one.name).join("\n");

export interface Sum {
  name: string;
  module: string;
  origin: Origin | null;
  own: number;
  total: number;
}

/** Sums each function over all paths, most own samples first. */
export function sumFunctions(root: Call): Sum[] {
  const sums = new Map<string, Sum>();
  for (const call of listCalls(root).slice(1)) {
    const key = `${call.name}\n${call.module}`;
    const sum = sums.get(key) ?? { name: call.name, module: call.module, origin: call.origin, own: 0, total: 0 };
    sum.own += call.own;
    // A recursive call is already in the total of the outer call.
    if (!listCallers(call).some((one) => one.name === call.name && one.module === call.module)) sum.total += call.total;
    sums.set(key, sum);
  }
  return [...sums.values()].sort((a, b) => b.own - a.own || b.total - a.total);
}

/** Finds the calls whose names contain the text, and their share of samples, without double counting. */
export function findCalls(root: Call, text: string): { calls: Set<Call>; share: number } {
  const calls = new Set<Call>(), query = text.toLowerCase();
  if (query === "") return { calls, share: 0 };
  let total = 0;
  const visit = (call: Call, within: boolean): void => {
    const isHit = call.caller != null && call.name.toLowerCase().includes(query);
    if (isHit) calls.add(call);
    if (isHit && !within) total += call.total;
    call.callees.forEach((callee) => visit(callee, within || isHit));
  };
  visit(root, false);
  return { calls, share: callShare({ ...root, total }, root.total) };
}

/** Returns the CPU time per operation of a number of samples; null: no operations or no sampling rate. */
export function nsPerOp(flame: Flame, samples: number): number | null {
  return flame.operations > 0 && flame.rate_hz > 0 ? (samples * 1e9) / flame.rate_hz / flame.operations : null;
}
