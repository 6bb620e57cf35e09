/** The training worker, on kernels of choice: a message `kernels` starts the WASM backend with its options. */

import type { StartOptions } from "../../../../webapp/static/src/engine/backends";
import "../../../../webapp/static/src/workers/training/main";

const perform = self.onmessage;
type Kernels = { type: string; backend: "wasm" | "exact"; options: StartOptions };
self.onmessage = async function answer(event: MessageEvent<Kernels>) {
  if (event.data.type !== "kernels") {
    perform?.call(self, event);
    return;
  }
  // Late, as in the worker's entry, to which nothing else may belong.
  const { startBackend } = await import("../../../../webapp/static/src/engine/backends");
  // Only the first start of a backend counts, so the worker's own does not change the options.
  self.postMessage({ type: "kernels", started: await startBackend(event.data.backend, event.data.options) });
};
