// The figures of a workload, in the order of the page.

import type { Figure } from "../drawing";
import { amplification } from "./amplification";
import { blockio } from "./blockio";
import { cost } from "./cost";
import { efficiency } from "./efficiency";
import { flame } from "./flame";
import { heat } from "./heat";
import { history } from "./history";
import { latency } from "./latency";
import { memory } from "./memory";
import { overview } from "./overview";
import { pairs } from "./pairs";
import { percentiles } from "./percentiles";
import { published } from "./published";
import { ranking } from "./ranking";
import { ranks } from "./ranks";
import { rate } from "./rate";
import { scoreboard } from "./scoreboard";
import { tails } from "./tails";
import { throughput } from "./throughput";
import { time } from "./time";
import { timeline } from "./timeline";
import { tradeoff } from "./tradeoff";
import { volumes } from "./volumes";
import { written } from "./written";

export { memory, overview, pairs, published, ranking, rate, scoreboard };

export const FIGURES: Figure[] = [
  history, rate, memory, volumes, throughput, latency, percentiles, tails, heat, time, flame, timeline, written, amplification, cost, ranks, efficiency,
  tradeoff, blockio,
];
