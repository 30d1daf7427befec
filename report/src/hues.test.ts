// Colours of engines: the same on every page, and distinguishable with any colour vision.

import { describe, expect, test } from "vitest";
import { markerSymbol, markerOutline, THEMES } from "./colour";
import { HUES, assignHues } from "./hues";

describe("an engine's colour", () => {
  const createNamed = (engine: string, label = engine, durability = "commit") => ({ engine, label, durability });
  const findHue = (page: ReturnType<typeof createNamed>[], label: string, durability = "commit") =>
    assignHues(page)[page.findIndex((one) => one.label === label && one.durability === durability)];

  test("is its own on every page, whoever stands beside it", () => {
    const pages = [["lmdb", "rocksdb"], ["rocksdb", "sqlite", "lmdb"], ["fjall", "redb", "a-store", "lmdb"], ["lmdb"]];
    expect(new Set(pages.map((page) => findHue(page.map((name) => createNamed(name)), "lmdb")?.hue)).size).toBe(1);
    const others = pages.slice(0, 2).map((page) => findHue(page.map((name) => createNamed(name)), "rocksdb")?.hue);
    expect(new Set(others).size).toBe(1);
  });

  test("is nobody else's on a page", () => {
    const embedded = ["lmdb", "rocksdb", "sqlite", "redb", "fjall", "mdbx", "wiredtiger", "leveldb", "surrealkv", "direct", "lmdb1"].map((name) => createNamed(name));
    const page = [...embedded, createNamed("rocksdb", "rocksdb-tuned")];
    expect(new Set(assignHues(page).map(({ hue }) => hue)).size).toBe(page.length);
    expect(findHue(page, "rocksdb-tuned")?.hue).not.toBe(findHue(page, "rocksdb")?.hue);
    expect(assignHues(page).every(({ again }) => !again)).toBe(true);
  });

  test("is the engine's in another class, with another line", () => {
    const page = [createNamed("rocksdb", "rocksdb-commit", "commit"), createNamed("rocksdb", "rocksdb-async", "async"), createNamed("lmdb")];
    const [commit, async_] = assignHues(page);
    expect([commit?.hue, async_?.hue]).toEqual([assignHues([createNamed("rocksdb")])[0]?.hue, commit?.hue]);
    expect([commit?.again, async_?.again]).toEqual([false, true]);
  });
});

test("every marker has its middle on the value that it marks, and is the one of the legend", () => {
  const engine = { id: "a", name: "a", title: "a", durability: "", loadGenerator: false, drive: false, order: 0 };
  for (let hue = 0; hue < HUES; hue += 1) {
    for (const again of [false, true]) {
      const marker = markerSymbol({ ...engine, hue, again }), outline = markerOutline({ ...engine, hue, again });
      expect(["circle", "rect", "triangle", "diamond", `path://${outline}`]).toContain(marker);
    }
  }
});

test("engines' colours stand out from their ground, and from each other for eyes without a green or a red cone", () => {
  const linearChannels = (colour: string) => [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const multiply = (eye: number[][], rgb: number[]) => eye.map((row) => row.reduce((sum, share, at) => sum + share * (rgb[at] ?? 0), 0));
  const luminance = (colour: string) => multiply([[0.2126, 0.7152, 0.0722]], linearChannels(colour))[0] ?? 0;
  const toLab = (rgb: number[]) => {
    const xyz = multiply([[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722], [0.0177, 0.1095, 0.8728]], rgb);
    const [x = 0, y = 0, z = 0] = xyz.map((part) => (part > 0.008856 ? Math.cbrt(part) : 7.787 * Math.max(0, part) + 16 / 116));
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  };
  // Machado, Oliveira and Fernandes 2009: normal vision, deuteranopia, protanopia.
  const eyes = [
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0.367, 0.861, -0.228], [0.28, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
  ];
  for (const theme of [THEMES.light, THEMES.dark]) {
    expect(theme.engines.length).toBe(HUES);
    for (const colour of theme.engines) {
      const [a = 0, b = 0] = [luminance(colour), luminance(theme.ground)].sort((x, y) => y - x);
      expect((a + 0.05) / (b + 0.05), colour).toBeGreaterThan(3);
    }
    for (const eye of eyes) theme.engines.forEach((one, at) => theme.engines.slice(0, at).forEach((other) => {
      const [a, b] = [toLab(multiply(eye, linearChannels(one))), toLab(multiply(eye, linearChannels(other)))];
      expect(Math.hypot(...a.map((part, axis) => part - (b[axis] ?? 0))), `${one} ${other}`).toBeGreaterThan(14);
    }));
  }
});
