/** The training worker, whose graphics card can be taken away: a message `lose` loses the context of its backend. */

import "../../../../webapp/static/src/workers/training/main";

interface Gpu {
  readonly gpgpu?: { readonly gl: WebGL2RenderingContext };
  readonly device?: { destroy(): void };
}

const perform = self.onmessage;
self.onmessage = async function answer(event: MessageEvent<{ type: string }>) {
  if (event.data.type !== "lose") {
    perform?.call(self, event);
    return;
  }
  // Late, as in the worker's entry, to which nothing else may belong.
  const { backend } = await import("@tensorflow/tfjs-core");
  (backend() as unknown as Gpu).gpgpu?.gl.getExtension("WEBGL_lose_context")?.loseContext();
};
