// A load as `time` prints it: the columns of the published studies, and what they lacked.

import { h } from "./dom";
import { inUnit, NONE } from "./format";
import { metricOf } from "./model";
import { table } from "./table";
import type { View } from "./view";

const COLUMNS = [
  ["records_per_s", "records/s"], ["wall_ns", "wall"], ["cpu_user_ns", "user"], ["cpu_system_ns", "sys"], ["cpu_percent", "CPU"],
  ["database_allocated_bytes", "size"], ["context_switches_voluntary", "switches"], ["context_switches_involuntary", "pushed off"],
  ["fs_inputs_512", "FS inputs"], ["fs_outputs_512", "FS outputs"], ["fs_outputs_512_per_record", "outputs/record"],
  ["device_write_bytes", "device wrote"], ["write_amplification", "write ampl."], ["settle_wall_ns", "settle"],
] as const;

export function loadTable(view: View): HTMLElement {
  const rows = view.cases.filter((one) => !one.engine.harness).map((one) => [one.engine.name, ...COLUMNS.map(([name]) => {
    const metric = metricOf(one.load?.metrics, name);
    return metric?.value == null ? NONE : inUnit(metric.value, metric.unit);
  })]);
  return h("div", { class: "load" },
    h("p", { class: "note" }, "Medians over trials. FS outputs are 512-byte units dirtied (getrusage), as published studies count them; what the device wrote is beside them."),
    table({ head: ["engine", ...COLUMNS.map(([, title]) => title)], rows }, "The load"));
}
