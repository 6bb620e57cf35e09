/** A thread of the compiled kernels: see thread-pool.ts. */

import { Crew, type Enlistment, type Kernels } from "./thread-pool";

const scope = self as unknown as DedicatedWorkerGlobalScope;

scope.onmessage = ({ data: { module, memory, control, index } }: MessageEvent<Enlistment>) => {
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  const crew = new Crew(exports as Kernels, memory, control, index);
  scope.postMessage("ready");
  crew.serve();
};
