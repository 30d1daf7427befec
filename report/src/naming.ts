// The name and conditions of a figure that is shown alone.

import { pictureConditions } from "./conditions";
import type { Drawing } from "./drawing";
import type { Naming } from "./save";
import type { View } from "./view";

/** Returns `p99 against threads (Random reads, percentile p99)`. */
export function figureName(drawing: Drawing, view: View): string {
  const chosen = (drawing.controls ?? []).filter((control) => control.options.length > 1)
    .map((control) => `${control.label} ${control.options.find((option) => option.value === control.value)?.label ?? ""}`);
  const work = drawing.whole || drawing.title.startsWith(view.work.name) ? [] : [view.work.name];
  const context = [...work, ...chosen].join(", ");
  return drawing.title + (context ? ` (${context})` : "");
}

export const figureNaming = (drawing: Drawing, view: View): Naming =>
  ({ title: figureName(drawing, view), note: drawing.note, conditions: pictureConditions(view, drawing) });
