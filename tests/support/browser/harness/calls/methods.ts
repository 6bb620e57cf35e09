/** All that the harness' worker does at the tests' request. */

import { kernelTimes } from "../measurements/kernels";
import { maskingTimes } from "../measurements/masking";
import { peakBytes } from "../measurements/memory";
import { stepTimes } from "../measurements/speed";
import { steady } from "../measurements/stability";
import { conformance } from "./conformance";
import { feeds } from "./feeds";
import { masks } from "./masks";
import { fetchedModules, runOps } from "./op";
import { repetitions } from "./repetitions";
import { reports } from "./reports";

export const METHODS: Readonly<Record<string, (argument: never) => Promise<unknown>>> = {
  conformance,
  feeds,
  fetchedModules,
  kernelTimes,
  maskingTimes,
  masks,
  peakBytes,
  repetitions,
  reports,
  runOps,
  steady,
  stepTimes,
};
