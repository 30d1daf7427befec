// Titles of figures.

const TITLES: Record<string, string> = {
  ops_per_s: "ops/s", records_per_s: "records/s", service_ns_p50: "latency p50", service_ns_p99: "latency p99",
  service_ns_p99_9: "latency p99.9", response_ns_p50: "response p50", response_ns_p99: "response p99", response_ns_p99_9: "response p99.9",
  cpu_ns_per_op: "CPU per op", device_write_bytes_per_op: "device writes per op", database_used_bytes: "size on the volume",
};

/** Returns the title of a figure: `ops/s` for `ops_per_s`. */
export const figureTitle = (figure: string): string => TITLES[figure] ?? figure.replaceAll("_", " ");
