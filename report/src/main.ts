// Reads the page's data and shows the page of its kind.

import { h } from "./dom";
import { loadPage } from "./load";
import { showFleet } from "./pages/fleet";
import { showReport } from "./pages/report";
import { showRuns } from "./pages/runs";
import { showTrace } from "./pages/trace";
import { showTrend } from "./pages/trend";
import { showVersus } from "./pages/versus";

async function main(): Promise<void> {
  const root = document.getElementById("page");
  if (!root) return;
  try {
    const { json, data } = await loadPage(document.getElementById("data"));
    switch (data.kind) {
      case "fleet": return showFleet(root, data, json);
      case "report": return showReport(root, data, json);
      case "runs": return showRuns(root, data);
      case "trace": return showTrace(root, data, json);
      case "trend": return showTrend(root, data, json);
      case "versus": return showVersus(root, data, json);
    }
  } catch (error) {
    root.replaceChildren(h("p", { role: "alert" }, `This page cannot be shown: ${String(error)}`));
    throw error;
  }
}

void main();
