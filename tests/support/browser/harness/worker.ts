/** Runs the training worker's own modules at the tests' request. */

import { conformance } from "./calls/conformance";
import { feeds } from "./calls/feeds";
import { masks } from "./calls/masks";
import { fetchedModules, runOps } from "./calls/op";
import { repetitions } from "./calls/repetitions";
import { reports } from "./calls/reports";
import { kernelTimes } from "./measurements/kernels";
import { maskingTimes } from "./measurements/masking";
import { peakBytes } from "./measurements/memory";
import { stepTimes } from "./measurements/speed";
import { steady } from "./measurements/stability";
import type { Answer, Call } from "./messages";

const METHODS: Readonly<Record<string, (argument: never) => Promise<unknown>>> = {
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
