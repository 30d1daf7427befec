// Which hue and marker an engine has: its own on every page, whoever stands beside it.

/** As many as every theme's list of hues has. */
export const HUES = 12;

/** The hues of engines that come with kvdyno. Servers share some with libraries, and have other markers. */
const OWN: Record<string, number> = {
  lmdb: 0, rocksdb: 1, sqlite: 2, redb: 3, fjall: 4, mdbx: 5, wiredtiger: 6, leveldb: 7, surrealkv: 8, direct: 9, lmdb1: 10, redis: 11,
  postgres: 17, mariadb: 18, mongodb: 20, memcached: 14, aerospike: 15,
};

export interface Hue {
  hue: number;
  /** The hue's second use: another marker, and a dashed line. */
  again: boolean;
}

interface Named {
  /** What engine it is. */
  engine: string;
  /** What the suite calls it. */
  label: string;
  durability: string;
}

/** Of a name the same number on every page. */
function hash(name: string): number {
  let value = 7;
  for (const letter of name) value = (value * 31 + (letter.codePointAt(0) ?? 0)) % 9973;
  return value;
}

/** `rocksdb-async` is RocksDB in that class, and not another engine. */
const withoutClass = ({ label, durability }: Named): string =>
  label.endsWith(`-${durability}`) ? label.slice(0, -durability.length - 1) : label;

/** An engine's first build or setting has the engine's hue, the others hues that nobody on this page has; the
 * same in another class of durability has its hue again. */
export function huesOf(all: Named[]): Hue[] {
  const slots = new Map<string, number>();
  const taken = () => new Set([...slots.values()].map((slot) => slot % HUES));
  const free = (name: string): number => {
    const start = hash(name) % HUES;
    const steps = Array.from({ length: HUES }, (_, step) => (start + step) % HUES);
    return steps.find((hue) => !taken().has(hue)) ?? start + HUES;
  };
  const known = (one: Named) => Object.hasOwn(OWN, one.engine);
  const first = (one: Named) => one === (all.find((other) => other.engine === one.engine && withoutClass(other) === other.engine)
    ?? all.find((other) => other.engine === one.engine));
  // Those that have hues of their own before those that take what is left.
  for (const one of all) if (known(one) && first(one)) slots.set(withoutClass(one), OWN[one.engine] ?? 0);
  for (const one of all) {
    const name = withoutClass(one);
    if (!slots.has(name)) slots.set(name, free(name));
  }
  const seen = new Set<string>();
  return all.map((one) => {
    const name = withoutClass(one), slot = slots.get(name) ?? 0, again = slot >= HUES || seen.has(name);
    seen.add(name);
    return { hue: slot % HUES, again };
  });
}
