// The parts of ECharts that the figures use.

import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AxisPointerComponent, GridComponent, MarkAreaComponent, MarkLineComponent, TitleComponent,
  TooltipComponent, VisualMapComponent,
} from "echarts/components";
import { init, use, type EChartsCoreOption, type EChartsType } from "echarts/core";
import { LabelLayout } from "echarts/features";
import { SVGRenderer } from "echarts/renderers";

use([
  AxisPointerComponent, BarChart, CustomChart, GridComponent, HeatmapChart, LabelLayout, LineChart,
  MarkAreaComponent, MarkLineComponent, ScatterChart, SVGRenderer, TitleComponent, TooltipComponent,
  VisualMapComponent,
]);

export { init };
export type { EChartsCoreOption as Option, EChartsType as Chart };
