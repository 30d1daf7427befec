// The state of a run, as text.

import type { RunEntry, State } from "./data";

const WORDS: Record<State, string> = { complete: "complete", running: "running", partial: "partial", unreadable: "cannot be read" };

/** Returns the state's text and its CSS class. A run that ended with undone cases is not complete. */
export function runState(run: Pick<RunEntry, "state" | "cases_planned" | "cases_done">): [words: string, name: State] {
  const undone = run.cases_planned - run.cases_done;
  return run.state === "complete" && undone > 0 ? [`ended: ${undone} not done`, "partial"] : [WORDS[run.state], run.state];
}
