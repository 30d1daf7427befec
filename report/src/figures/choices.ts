// Controls that several figures have: threads and role.

import { createControl, type Control } from "../drawing";
import { threadCounts, type View } from "../view";

/** Creates the control of threads. The default is the highest number, where engines differ most. */
export function threadsControl(view: View, figure: string): Control {
  const counts = threadCounts(view);
  const options = counts.map((count) => ({ value: String(count), label: String(count) }));
  return createControl(view, `${figure}.threads`, "threads", options, String(counts.at(-1) ?? ""));
}

export function roleControl(view: View, figure: string): Control {
  const options = view.work.roles.map((role) => ({ value: role, label: role }));
  return createControl(view, `${figure}.role`, "role", options, view.work.roles[0] ?? "");
}

/** Returns the cases with the chosen number of threads; for a load all of them. */
export const casesAtThreads = (view: View, threads: Control) =>
  view.cases.filter((one) => one.threads == null || String(one.threads) === threads.value);
