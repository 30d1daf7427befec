// What engines are ranked by, in words.

import type { Question } from "./ranked";

interface Words {
  /** On a button, and over a column. */
  short: string;
  /** What is asked. */
  long: string;
}

export const QUESTIONS: Record<Question, Words> = {
  loading: { short: "load", long: "records loaded a second" },
  reads: { short: "reads", long: "reads a second" },
  writes: { short: "writes", long: "writes a second" },
  scans: { short: "scans", long: "scans a second" },
  mixed: { short: "mixed", long: "reads and writes a second" },
  read_latency: { short: "read p99", long: "p99 of reads in a mix" },
  write_latency: { short: "write p99", long: "p99 of writes in a mix" },
  space: { short: "space", long: "space amplification" },
  write_amplification: { short: "write amp", long: "write amplification" },
  tail: { short: "tail", long: "p99.9 of reads while others write" },
};
