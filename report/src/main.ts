// Reads the page's data and shows the page that it is for.

import { h } from "./dom";
import { load } from "./load";
import { fleet } from "./pages/fleet";
import { report } from "./pages/report";
import { runs } from "./pages/runs";
import { trace } from "./pages/trace";
import { trend } from "./pages/trend";
import { versus } from "./pages/versus";

async function main(): Promise<void> {
  const root = document.getElementById("page");
  if (!root) return;
  try {
    const { json, data } = await load(document.getElementById("data"));
    switch (data.kind) {
      case "fleet": return fleet(root, data, json);
      case "report": return report(root, data, json);
      case "runs": return runs(root, data);
      case "trace": return trace(root, data, json);
      case "trend": return trend(root, data, json);
      case "versus": return versus(root, data, json);
    }
  } catch (error) {
    root.replaceChildren(h("p", { role: "alert" }, `This page cannot be shown: ${String(error)}`));
    throw error;
  }
}

void main();
