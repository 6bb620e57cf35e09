/** The training worker, whose graphics card can be taken away: a message `lose` loses the context of its backend. */

import { backend } from "@tensorflow/tfjs-core";
import "../../../../webapp/static/src/workers/training/main";

interface Gpu {
  readonly gpgpu?: { readonly gl: WebGL2RenderingContext };
  readonly device?: { destroy(): void };
}

const perform = self.onmessage;
self.onmessage = function answer(event: MessageEvent<{ type: string }>) {
  if (event.data.type !== "lose") {
    perform?.call(self, event);
    return;
  }
  (backend() as unknown as Gpu).gpgpu?.gl.getExtension("WEBGL_lose_context")?.loseContext();
};
