// One colour and one marker per engine, the same on every page (hues.ts). The twelve colours are distinguishable with
// any colour vision: they were chosen by their distances under deuteranopia and protanopia. Better and worse have no
// colour: they are drawn in the text colour, with an arrow.

import type { Engine } from "./model";

export interface Theme {
  name: "light" | "dark" | "print";
  ground: string;
  text: string;
  faint: string;
  line: string;
  grid: string;
  loadGenerator: string;
  engines: readonly string[];
  /** Colours of the parts of a whole, in muted tints that no engine has. */
  parts: readonly string[];
  /** Colours of a heat map, from the lowest count to the highest. */
  heat: readonly string[];
}

const LIGHT: Theme = {
  name: "light",
  ground: "#ffffff",
  text: "#1d232b",
  faint: "#5d6773",
  line: "#b9c1ca",
  grid: "#e9edf1",
  loadGenerator: "#8b949e",
  engines: ["#0087dc", "#d76509", "#149777", "#73375f", "#9b8043", "#4d8fa1", "#403eb2", "#503823", "#3b5e11", "#323a76", "#ba3652", "#a443ac"],
  parts: ["#8fa6bf", "#c6d2de", "#b3a7cc", "#97bfa2", "#cbe0cf", "#d3bd8c", "#eadfc1", "#dba493", "#bfa88f", "#e0d3c4"],
  heat: ["#eaf2f9", "#b7d6ec", "#7ab3dc", "#3f87bd", "#1a5c93", "#0b3560"],
};

const DARK: Theme = {
  name: "dark",
  ground: "#171b21",
  text: "#e4e8ec",
  faint: "#9aa5b1",
  line: "#4a535e",
  grid: "#272d35",
  loadGenerator: "#79828d",
  engines: ["#1598ea", "#f27d19", "#40ca82", "#da6492", "#e9e067", "#bce8f0", "#bcb6ed", "#b18e4e", "#ddedbc", "#4186ff", "#f3acb8", "#af75bd"],
  parts: ["#5a7390", "#3d4f62", "#6a5f8a", "#4c7a5b", "#365342", "#84703f", "#584c2c", "#91574a", "#76604a", "#51443a"],
  heat: ["#1c2a38", "#1d4468", "#22659c", "#3f8fcc", "#85bfea", "#dcf0ff"],
};

const PRINT: Theme = { ...LIGHT, name: "print" };

export const THEMES = { light: LIGHT, dark: DARK, print: PRINT };

/** Markers whose centre lies on the marked value. The last three are outlines of this file. */
const MARKERS = ["circle", "rect", "triangle", "diamond", "down", "plus", "cross"] as const;

export function engineColour(engine: Engine, theme: Theme): string {
  if (engine.loadGenerator) return theme.loadGenerator;
  return theme.engines[engine.hue % theme.engines.length] ?? theme.text;
}

const markerName = (engine: Engine): string =>
  engine.loadGenerator ? "none" : MARKERS[(engine.hue + (engine.again ? 3 : 0)) % MARKERS.length] ?? "circle";

/** Returns the marker in the form that ECharts expects. */
export function markerSymbol(engine: Engine): string {
  const mark = markerName(engine);
  return ["down", "plus", "cross"].includes(mark) ? `path://${OUTLINES[mark] ?? ""}` : mark;
}

/** Mixes a colour half with the background, for the second part of a bar. */
export function paleColour(colour: string, theme: Theme): string {
  const parseChannel = (text: string, at: number) => parseInt(text.slice(at, at + 2), 16);
  const mixed = [1, 3, 5].map((at) => Math.round((parseChannel(colour, at) + parseChannel(theme.ground, at)) / 2));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** Returns the line style: an engine that shares its colour with another has a dashed line. */
export function engineDash(engine: Engine): "solid" | "dashed" | "dotted" {
  return engine.loadGenerator ? "dotted" : engine.again ? "dashed" : "solid";
}

/** Outlines of the markers in a square of 10 units, for the legend. */
const OUTLINES: Record<string, string> = {
  circle: "M5 1a4 4 0 1 0 .01 0z",
  rect: "M1.5 1.5h7v7h-7z",
  triangle: "M5 1 9 9H1z",
  diamond: "M5 .5 9 5 5 9.5 1 5z",
  down: "M1 1h8L5 9z",
  plus: "M3.6 1h2.8v2.6H9v2.8H6.4V9H3.6V6.4H1V3.6h2.6z",
  cross: "M1 2.9 2.9 1 5 3.1 7.1 1 9 2.9 6.9 5 9 7.1 7.1 9 5 6.9 2.9 9 1 7.1 3.1 5z",
  none: "M0 4.5h10v1H0z",
};

export const markerOutline = (engine: Engine): string => OUTLINES[markerName(engine)] ?? OUTLINES["circle"] ?? "";
