/**
 * Runs the training worker's own modules at the tests' request. Like the app's entry of workers it holds nothing that
 * others import: WebKit evaluates an entry once more when another file of the worker imports from it, and the kernels would
 * be those of one TF.js, the graphs those of another.
 */

import type { Answer, Call } from "./messages";

const methods = import("./calls/methods").then(({ METHODS }) => METHODS);

self.onmessage = async ({ data }: MessageEvent<Call>) => {
  let answer: Answer;
  try {
    const method = (await methods)[data.method];
    if (method === undefined) throw new Error(`The harness has no method ${data.method}.`);
    answer = { id: data.id, result: await method(data.argument as never) };
  } catch (error) {
    answer = { id: data.id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  self.postMessage(answer);
};
