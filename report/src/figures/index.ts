// The figures, in the order of their numbers.

import type { Figure } from "../drawing";
import { amplification } from "./amplification";
import { blockio } from "./blockio";
import { cost } from "./cost";
import { efficiency } from "./efficiency";
import { heat } from "./heat";
import { memory } from "./memory";
import { percentiles } from "./percentiles";
import { rate } from "./rate";
import { scoreboard } from "./scoreboard";
import { throughput } from "./throughput";
import { time } from "./time";
import { timeline } from "./timeline";
import { tradeoff } from "./tradeoff";
import { volumes } from "./volumes";

export { scoreboard };

export const FIGURES: Figure[] = [
  throughput, percentiles, heat, time, timeline, amplification, cost, efficiency, rate, memory, tradeoff, blockio,
  volumes,
];
