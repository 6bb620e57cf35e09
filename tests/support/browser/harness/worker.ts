/** Runs the training worker's own modules at the tests' request. */

import { conformance } from "./conformance";
import { feeds } from "./feeds";
import { kernelTimes } from "./kernels";
import { maskingTimes } from "./masking";
import { masks } from "./masks";
import { peakBytes } from "./memory";
import type { Answer, Call } from "./messages";
import { fetchedModules, runOps } from "./op";
import { reports } from "./reports";
import { stepTimes } from "./speed";
import { steady } from "./steady";

const METHODS: Readonly<Record<string, (argument: never) => Promise<unknown>>> = {
  conformance,
  feeds,
  fetchedModules,
  kernelTimes,
  maskingTimes,
  masks,
  peakBytes,
  reports,
  runOps,
  steady,
  stepTimes,
};

self.onmessage = async ({ data }: MessageEvent<Call>) => {
  let answer: Answer;
  try {
    const method = METHODS[data.method];
    if (method === undefined) throw new Error(`The harness has no method ${data.method}.`);
    answer = { id: data.id, result: await method(data.argument as never) };
  } catch (error) {
    answer = { id: data.id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  self.postMessage(answer);
};
