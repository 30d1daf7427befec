// A load's figures, like the output of `time`: those of published studies, and what they lacked.

import { h } from "./dom";
import { formatValue, NONE } from "./format";
import { findMetric } from "./model";
import { createTable } from "./table";
import type { View } from "./view";

const COLUMNS = [
  ["records_per_s", "records/s"], ["wall_ns", "wall time"], ["cpu_user_ns", "CPU time, user"], ["cpu_system_ns", "CPU time, system"], ["cpu_percent", "CPU over wall time"],
  ["database_used_bytes", "size on the volume"], ["context_switches_voluntary", "context switches, waited"], ["context_switches_involuntary", "context switches, pushed off"],
  ["fs_inputs_512", "FS inputs"], ["fs_outputs_512", "FS outputs"], ["fs_outputs_512_per_record", "FS outputs per record"],
  ["device_write_bytes", "written by the device"], ["write_amplification", "write amplification"], ["deferred_ns", "deferred work"],
] as const;

const SETTLE_MIN_NS = 1e6;

export function loadTable(view: View): HTMLElement {
  const cases = view.cases.filter((one) => !one.engine.loadGenerator);
  const rows = COLUMNS.map(([name, title]) => [title, ...cases.map((one) => {
    const metric = findMetric(one.load?.metrics, name);
    return metric?.value == null ? NONE : formatValue(metric.value, metric.unit).replace(/\/(s|record)$/, "");
  })]);
  // Deferred work that ended at once is not shown.
  const hasSettled = cases.some((one) => (findMetric(one.load?.metrics, "deferred_ns")?.value ?? 0) >= SETTLE_MIN_NS);
  const shownRows = rows.filter(([title]) => hasSettled || title !== "deferred work");
  return h("div", { class: "load" },
    h("p", { class: "note" }, "Medians over trials. FS outputs are 512-byte units dirtied (getrusage), as published studies count them; the device's writes are next to them."),
    createTable({ head: ["", ...cases.map((one) => one.engine.name)], rows: shownRows }, "The load"));
}
