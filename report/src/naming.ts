// What a figure is called, and what is said of it, where nothing stands beside it.

import { conditionsOf } from "./conditions";
import type { Drawing } from "./drawing";
import type { Naming } from "./save";
import type { View } from "./view";

/** `p99 against threads (Random reads, percentile p99)`. */
export function nameOf(drawing: Drawing, view: View): string {
  const chosen = (drawing.controls ?? []).filter((control) => control.options.length > 1)
    .map((control) => `${control.label} ${control.options.find((option) => option.value === control.value)?.label ?? ""}`);
  const work = drawing.whole || drawing.title.startsWith(view.work.name) ? [] : [view.work.name];
  const context = [...work, ...chosen].join(", ");
  return drawing.title + (context ? ` (${context})` : "");
}

export const namingOf = (drawing: Drawing, view: View): Naming =>
  ({ title: nameOf(drawing, view), note: drawing.note, conditions: conditionsOf(view, drawing) });
