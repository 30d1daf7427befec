// A comparison's functions: which of them moved, and the new side's flame graph in colours of the change.

import { THEMES, type Theme } from "./colour";
import { h } from "./dom";
import { flameGraph, ORIGINS, threadsWords } from "./flamegraph";
import { nsPerOp, treeOf, type ProfilePair } from "./flames";
import { duration, NONE } from "./format";
import { section } from "./sections";
import { table } from "./table";

const theme = (): Theme => (document.documentElement.dataset["theme"] === "dark" ? THEMES.dark : THEMES.light);

/** Null: neither side was profiled. */
export function moves(profiles: ProfilePair[], base: string): HTMLElement | null {
  const [first] = profiles;
  if (!first) return null;
  const body = h("div", {});
  let chosen = first;
  const show = (pair: ProfilePair): void => {
    chosen = pair;
    body.replaceChildren(...drawn(pair, base));
  };
  const names = profiles.map((pair) => `${pair.pair}, ${pair.phase}: ${threadsWords(pair)}`);
  const select = h("select", { change: (event) => {
    const pair = profiles[Number((event.target as HTMLSelectElement).value)];
    if (pair) show(pair);
  } }, ...names.map((name, at) => h("option", { value: String(at) }, name)));
  show(first);
  // Colours are the theme's.
  new MutationObserver(() => show(chosen)).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return section("functions", "Functions", profiles.length > 1 ? h("div", { class: "controls" }, h("label", {}, "of ", select)) : h("p", { class: "note" }, names[0]), body);
}

function drawn(pair: ProfilePair, base: string): HTMLElement[] {
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`, ns = (value: number | null) => (value == null ? NONE : duration(value));
  const label = `Functions of ${pair.pair}, ${pair.phase}, ${threadsWords(pair)}`;
  if (pair.base.samples === 0 || pair.new.samples === 0) {
    const only = pair.new.samples === 0 ? pair.base : pair.new;
    return [
      h("p", { class: "note" }, `Only ${only === pair.base ? base : "the new side"} has such threads: ${ns(nsPerOp(only, only.samples))} per operation.`),
      flameGraph(treeOf(only), only, theme(), label),
    ];
  }
  const rows = pair.moved.map((one) => [one.name, ORIGINS[one.origin], percent(one.base_share), percent(one.new_share), ns(one.base_ns_per_op), ns(one.new_ns_per_op)]);
  return [
    h("p", { class: "note" }, rows.length === 0
      ? "No function's own share of the CPU time moved by more than chance does (99 % for all together)."
      : "Functions of 20 samples or more whose own share of the CPU time moved by more than chance does (99 % for all together). A share also moves if others got faster or slower; time per operation does not."),
    ...(rows.length === 0 ? [] : [table({ head: ["function", "code of", "self, base", "self, new", "per operation, base", "per operation, new"], words: 2, rows }, "Functions that moved")]),
    h("p", { class: "note" }, `Widths are shares of the new side. Colours: the change of the share since ${base}. What waits is not sampled.`),
    flameGraph(treeOf(pair.new, pair.base), pair.new, theme(), label),
  ];
}
