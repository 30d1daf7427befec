// The functions of a comparison: those whose share moved, and the new side's flame graph, coloured by the change.

import { THEMES, type Theme } from "./colour";
import { h } from "./dom";
import { flameGraph, ORIGINS, threadKindLabel } from "./flamegraph";
import { nsPerOp, buildTree, type ProfilePair } from "./flames";
import { formatDuration, NONE } from "./format";
import { createSection } from "./sections";
import { createTable } from "./table";

const currentTheme = (): Theme => (document.documentElement.dataset["theme"] === "dark" ? THEMES.dark : THEMES.light);

/** Creates the section of functions; null: neither side was profiled. */
export function movesSection(profiles: ProfilePair[], base: string): HTMLElement | null {
  const [first] = profiles;
  if (!first) return null;
  const body = h("div", {});
  let chosen = first;
  const show = (pair: ProfilePair): void => {
    chosen = pair;
    body.replaceChildren(...pairElements(pair, base));
  };
  const names = profiles.map((pair) => `${pair.pair}, ${pair.phase}: ${threadKindLabel(pair)}`);
  const select = h("select", { change: (event) => {
    const pair = profiles[Number((event.target as HTMLSelectElement).value)];
    if (pair) show(pair);
  } }, ...names.map((name, at) => h("option", { value: String(at) }, name)));
  show(first);
  // The graph's colours depend on the theme.
  new MutationObserver(() => show(chosen)).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return createSection("functions", "Functions", profiles.length > 1 ? h("div", { class: "controls" }, h("label", {}, "of ", select)) : h("p", { class: "note" }, names[0]), body);
}

function pairElements(pair: ProfilePair, base: string): HTMLElement[] {
  const formatPercent = (share: number) => `${(100 * share).toFixed(1)} %`, formatNs = (value: number | null) => (value == null ? NONE : formatDuration(value));
  const label = `Functions of ${pair.pair}, ${pair.phase}, ${threadKindLabel(pair)}`;
  if (pair.base.samples === 0 || pair.new.samples === 0) {
    const only = pair.new.samples === 0 ? pair.base : pair.new;
    return [
      h("p", { class: "note" }, `Only ${only === pair.base ? base : "the new side"} has such threads: ${formatNs(nsPerOp(only, only.samples))} per operation.`),
      flameGraph(buildTree(only), only, currentTheme(), label),
    ];
  }
  const rows = pair.moved.map((one) => [one.name, ORIGINS[one.origin], formatPercent(one.base_share), formatPercent(one.new_share), formatNs(one.base_ns_per_op), formatNs(one.new_ns_per_op)]);
  return [
    h("p", { class: "note" }, rows.length === 0
      ? "No function's own share of the CPU time moved by more than chance does (99 % for all together)."
      : "Functions of 20 samples or more whose own share of the CPU time moved by more than chance does (99 % for all together). A share also moves if others got faster or slower; time per operation does not."),
    ...(rows.length === 0 ? [] : [createTable({ head: ["function", "code of", "self, base", "self, new", "per operation, base", "per operation, new"], words: 2, rows }, "Functions that moved")]),
    h("p", { class: "note" }, `Widths are shares of the new side. Colours: the change of the share since ${base}. What waits is not sampled.`),
    flameGraph(buildTree(pair.new, pair.base), pair.new, currentTheme(), label),
  ];
}
