/** A thread of the compiled kernels: see thread-pool.ts. */

import { type Enlistment, type Kernels, ThreadPool } from "./thread-pool";

const scope = self as unknown as DedicatedWorkerGlobalScope;

scope.onmessage = ({ data: { module, memory, control, index } }: MessageEvent<Enlistment>) => {
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  const threadPool = new ThreadPool(exports as Kernels, memory, control, index);
  scope.postMessage("ready");
  threadPool.serve();
};
