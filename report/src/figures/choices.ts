// Choices that several figures offer: how many threads, which role.

import { control, type Control } from "../drawing";
import { threadsOf, type View } from "../view";

/** The most threads first of all: that is where engines differ. */
export function threadsControl(view: View, figure: string): Control {
  const counts = threadsOf(view);
  const options = counts.map((count) => ({ value: String(count), label: String(count) }));
  return control(view, `${figure}.threads`, "threads", options, String(counts.at(-1) ?? ""));
}

export function roleControl(view: View, figure: string): Control {
  const options = view.work.roles.map((role) => ({ value: role, label: role }));
  return control(view, `${figure}.role`, "role", options, view.work.roles[0] ?? "");
}

/** The cases with the chosen number of threads; of a load all. */
export const atThreads = (view: View, threads: Control) =>
  view.cases.filter((one) => one.threads == null || String(one.threads) === threads.value);
