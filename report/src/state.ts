// How a run stands, in words.

import type { RunEntry, State } from "./data";

const WORDS: Record<State, string> = { complete: "complete", running: "running", partial: "partial", unreadable: "cannot be read" };

/** What it is called, and which class of state that is: a run that came to its end with cases undone is
 * not complete. */
export function stateOf(run: Pick<RunEntry, "state" | "cases_planned" | "cases_done">): [words: string, name: State] {
  const undone = run.cases_planned - run.cases_done;
  return run.state === "complete" && undone > 0 ? [`ended: ${undone} not done`, "partial"] : [WORDS[run.state], run.state];
}
