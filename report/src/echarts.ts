// Registers the parts of ECharts that the figures use.

import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AxisPointerComponent, GraphicComponent, GridComponent, MarkAreaComponent, MarkLineComponent, TitleComponent,
  TooltipComponent,
} from "echarts/components";
import { init, use, type EChartsCoreOption, type EChartsType } from "echarts/core";
import { LabelLayout } from "echarts/features";
import { SVGRenderer } from "echarts/renderers";

use([
  AxisPointerComponent, BarChart, CustomChart, GraphicComponent, GridComponent, LabelLayout, LineChart,
  MarkAreaComponent, MarkLineComponent, ScatterChart, SVGRenderer, TitleComponent, TooltipComponent,
]);

export { init };
export type { EChartsCoreOption as Option, EChartsType as Chart };
