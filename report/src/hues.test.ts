// Colours of engines: the same on every page, and told apart by all eyes.

import { describe, expect, test } from "vitest";
import { markerOf, outlineOf, THEMES } from "./colour";
import { HUES, huesOf } from "./hues";

describe("an engine's colour", () => {
  const named = (engine: string, label = engine, durability = "commit") => ({ engine, label, durability });
  const hueOf = (page: ReturnType<typeof named>[], label: string, durability = "commit") =>
    huesOf(page)[page.findIndex((one) => one.label === label && one.durability === durability)];

  test("is its own on every page, whoever stands beside it", () => {
    const pages = [["lmdb", "rocksdb"], ["rocksdb", "sqlite", "lmdb"], ["fjall", "redb", "a-store", "lmdb"], ["lmdb"]];
    expect(new Set(pages.map((page) => hueOf(page.map((name) => named(name)), "lmdb")?.hue)).size).toBe(1);
    const others = pages.slice(0, 2).map((page) => hueOf(page.map((name) => named(name)), "rocksdb")?.hue);
    expect(new Set(others).size).toBe(1);
  });

  test("is nobody else's on a page", () => {
    const embedded = ["lmdb", "rocksdb", "sqlite", "redb", "fjall", "mdbx", "wiredtiger", "leveldb", "surrealkv", "direct", "lmdb1"].map((name) => named(name));
    const page = [...embedded, named("rocksdb", "rocksdb-tuned")];
    expect(new Set(huesOf(page).map(({ hue }) => hue)).size).toBe(page.length);
    expect(hueOf(page, "rocksdb-tuned")?.hue).not.toBe(hueOf(page, "rocksdb")?.hue);
    expect(huesOf(page).every(({ again }) => !again)).toBe(true);
  });

  test("is the engine's in another class, with another line", () => {
    const page = [named("rocksdb", "rocksdb-commit", "commit"), named("rocksdb", "rocksdb-async", "async"), named("lmdb")];
    const [commit, async_] = huesOf(page);
    expect([commit?.hue, async_?.hue]).toEqual([huesOf([named("rocksdb")])[0]?.hue, commit?.hue]);
    expect([commit?.again, async_?.again]).toEqual([false, true]);
  });
});

test("every marker has its middle on the value that it marks, and is the one of the legend", () => {
  const engine = { id: "a", name: "a", title: "a", durability: "", loadGenerator: false, drive: false, order: 0 };
  for (let hue = 0; hue < HUES; hue += 1) {
    for (const again of [false, true]) {
      const marker = markerOf({ ...engine, hue, again }), outline = outlineOf({ ...engine, hue, again });
      expect(["circle", "rect", "triangle", "diamond", `path://${outline}`]).toContain(marker);
    }
  }
});

test("engines' colours stand out from their ground, and from each other for eyes without a green or a red cone", () => {
  const linear = (colour: string) => [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const through = (eye: number[][], rgb: number[]) => eye.map((row) => row.reduce((sum, share, at) => sum + share * (rgb[at] ?? 0), 0));
  const light = (colour: string) => through([[0.2126, 0.7152, 0.0722]], linear(colour))[0] ?? 0;
  const lab = (rgb: number[]) => {
    const xyz = through([[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722], [0.0177, 0.1095, 0.8728]], rgb);
    const [x = 0, y = 0, z = 0] = xyz.map((part) => (part > 0.008856 ? Math.cbrt(part) : 7.787 * Math.max(0, part) + 16 / 116));
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  };
  // Machado, Oliveira and Fernandes 2009: nothing missing, deuteranopia, protanopia.
  const eyes = [
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0.367, 0.861, -0.228], [0.28, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
  ];
  for (const theme of [THEMES.light, THEMES.dark]) {
    expect(theme.engines.length).toBe(HUES);
    for (const colour of theme.engines) {
      const [a = 0, b = 0] = [light(colour), light(theme.ground)].sort((x, y) => y - x);
      expect((a + 0.05) / (b + 0.05), colour).toBeGreaterThan(3);
    }
    for (const eye of eyes) theme.engines.forEach((one, at) => theme.engines.slice(0, at).forEach((other) => {
      const [a, b] = [lab(through(eye, linear(one))), lab(through(eye, linear(other)))];
      expect(Math.hypot(...a.map((part, axis) => part - (b[axis] ?? 0))), `${one} ${other}`).toBeGreaterThan(14);
    }));
  }
});
