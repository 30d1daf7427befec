// A plot of a figure over the hosts of a fleet: a dot per host by its ratio to the median, with outliers marked.

import type { FleetHost, FleetFigure } from "./fleets";
import { svg } from "./dom";
import { OUTLINES, type Scale } from "./forest";
import { formatValue } from "./format";
import { formatCoordinate } from "./layout";

const HEIGHT = 26;


/** Draws the plot on the axis that all figures share, with the median in the middle. */
export function hostsPlot(series: FleetFigure, hosts: FleetHost[], scale: Scale): SVGElement {
  const middle = HEIGHT / 2;
  const dots = series.values.flatMap((value, at) => {
    if (value == null || series.median <= 0) return [];
    const outlier = series.outliers.find((one) => one.host === at);
    const title = svg("title", {}, `${hosts[at]?.name ?? ""}: ${formatValue(value, series.unit)}`);
    const x = formatCoordinate(scale.at(value / series.median));
    if (!outlier) return [svg("circle", { cx: x, cy: String(middle), r: "3", class: "run" }, title)];
    const verdict = outlier.better ? "improved" : "regressed";
    return [svg("svg", { x, y: String(middle - 6), width: "12", height: "12", overflow: "visible" },
      svg("path", { d: OUTLINES[verdict], transform: "translate(-6 0)", class: `point ${verdict}` }, title))];
  });
  const median = svg("line", { x1: "50%", x2: "50%", y1: "0", y2: String(HEIGHT), class: "border" });
  return svg("svg", { class: "course hosts", height: String(HEIGHT), role: "img", "aria-label": `${series.figure} of ${dots.length} hosts, ${series.outliers.length} apart` },
    median, ...dots);
}
