/** The entry of the worker that proves work: it does nothing else, so that it need not yield. */

import { PARTS, search } from "../../core/crypto/proof-of-work";
import type { FromProver, ToProver } from "../../core/messages/work-proof";

const scope = self as unknown as DedicatedWorkerGlobalScope;

scope.onmessage = ({ data: { seed, bits } }: MessageEvent<ToProver>) => {
  for (let part = 0; part < PARTS; part += 1) {
    const nonce = search(seed, part, bits, 0, 2 ** 48);
    if (nonce === null) return;
    scope.postMessage({ type: "part", nonce } satisfies FromProver);
  }
};
