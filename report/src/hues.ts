// The hue and marker of each engine, the same on every page, whatever other engines it has.

/** The number of hues in each theme. */
export const HUES = 12;

/** The hues of engines that come with kvdyno. Servers share some with libraries, and have other markers. */
const OWN: Record<string, number> = {
  lmdb: 0, rocksdb: 1, sqlite: 2, redb: 3, fjall: 4, mdbx: 5, wiredtiger: 6, leveldb: 7, surrealkv: 8, direct: 9, lmdb1: 10, redis: 11,
  postgres: 17, mariadb: 18, mongodb: 20, memcached: 14, aerospike: 15,
};

export interface Hue {
  hue: number;
  /** Whether this is the second use of the hue on the page: with another marker and a dashed line. */
  again: boolean;
}

interface Named {
  /** The engine's own name. */
  engine: string;
  /** The label that the suite gives the engine. */
  label: string;
  durability: string;
}

/** Returns a hash of a name. */
function hashName(name: string): number {
  let value = 7;
  for (const letter of name) value = (value * 31 + (letter.codePointAt(0) ?? 0)) % 9973;
  return value;
}

/** Returns the label without its durability class: `rocksdb-async` is `rocksdb`, not another engine. */
const labelWithoutClass = ({ label, durability }: Named): string =>
  label.endsWith(`-${durability}`) ? label.slice(0, -durability.length - 1) : label;

/** Assigns hues. The first build or setting of an engine has the engine's hue, the others have hues that are free on
 * this page. The same engine in another durability class has the same hue again. */
export function assignHues(all: Named[]): Hue[] {
  const slots = new Map<string, number>();
  const usedHues = () => new Set([...slots.values()].map((slot) => slot % HUES));
  const findFreeHue = (name: string): number => {
    const start = hashName(name) % HUES;
    const steps = Array.from({ length: HUES }, (_, step) => (start + step) % HUES);
    return steps.find((hue) => !usedHues().has(hue)) ?? start + HUES;
  };
  const hasOwnHue = (one: Named) => Object.hasOwn(OWN, one.engine);
  const isFirstOfEngine = (one: Named) => one === (all.find((other) => other.engine === one.engine && labelWithoutClass(other) === other.engine)
    ?? all.find((other) => other.engine === one.engine));
  // Engines with a hue of their own come first; the others take the remaining hues.
  for (const one of all) if (hasOwnHue(one) && isFirstOfEngine(one)) slots.set(labelWithoutClass(one), OWN[one.engine] ?? 0);
  for (const one of all) {
    const name = labelWithoutClass(one);
    if (!slots.has(name)) slots.set(name, findFreeHue(name));
  }
  const seenNames = new Set<string>();
  return all.map((one) => {
    const name = labelWithoutClass(one), slot = slots.get(name) ?? 0, again = slot >= HUES || seenNames.has(name);
    seenNames.add(name);
    return { hue: slot % HUES, again };
  });
}
