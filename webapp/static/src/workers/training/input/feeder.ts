/** The feeder worker: prepares the batches that are requested. Several feeders share the examples' memory. */

import { messageOf } from "../../../core/user-messages";
import { Preparation } from "./batch-order";
import type { FromFeeder, ToFeeder } from "./messages";

const scope = self as unknown as DedicatedWorkerGlobalScope;
let preparation: Preparation | null = null;

function answer(step: number): void {
  if (preparation === null) throw new Error("A batch was asked for before a plan was opened.");
  const batch = preparation.prepare(step);
  const buffers = [...batch.x, ...batch.y, ...batch.random, batch.sampleWeight].map(({ buffer }) => buffer);
  scope.postMessage({ step, batch } satisfies FromFeeder, buffers as ArrayBuffer[]);
}

scope.onmessage = ({ data }: MessageEvent<ToFeeder>) => {
  if (data.type === "open") {
    preparation = new Preparation(data.bundle, data.examples, data.walk);
    return;
  }
  try {
    answer(data.step);
  } catch (error) {
    const problem = messageOf(error);
    scope.postMessage({ step: data.step, problem } satisfies FromFeeder);
  }
};
