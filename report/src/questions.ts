// Labels of the questions by which engines are ranked.

import type { Question } from "./ranked";

interface Words {
  /** The label of a button or a column. */
  short: string;
  /** The full name of the question. */
  long: string;
}

export const QUESTIONS: Record<Question, Words> = {
  loading: { short: "load", long: "records loaded/s" },
  reads: { short: "reads", long: "reads/s" },
  writes: { short: "writes", long: "writes/s" },
  scans: { short: "scans", long: "scans/s" },
  mixed: { short: "mixed", long: "reads and writes/s" },
  read_latency: { short: "read p99", long: "p99 of reads in a mix" },
  write_latency: { short: "write p99", long: "p99 of writes in a mix" },
  space: { short: "space", long: "space amplification" },
  write_amplification: { short: "write amp", long: "write amplification" },
  opening: { short: "open", long: "mean time to open a closed database" },
  recovery: { short: "recover", long: "mean time to open a database after a kill" },
  tail: { short: "tail", long: "p99.9 of reads while others write" },
};
