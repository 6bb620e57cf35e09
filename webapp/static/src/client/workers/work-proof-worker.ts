/** The worker that proves work, with a promise: it is ended with the proof, or when nobody needs it any more. */

import type { Bytes } from "../../core/crypto/bytes";
import { PARTS } from "../../core/crypto/proof-of-work";
import type { FromProver, ToProver } from "../../core/messages/work-proof";
import { say } from "../../i18n";
import "./script-policy";

function spawnWorker(): Worker {
  return new Worker(new URL("../../workers/work-proof/main.ts", import.meta.url), { type: "module" });
}

/** Finds the nonces of a proof; `found` receives their number so far. Rejects if the worker fails or is aborted. */
export type Prover = (
  question: Omit<ToProver, "type">,
  found: (parts: number) => void,
  signal: AbortSignal,
) => Promise<readonly number[]>;

export const proveInWorker: Prover = (question, found, signal) =>
  new Promise((resolve, reject) => {
    const worker = spawnWorker();
    const nonces: number[] = [];
    const end = (): void => worker.terminate();
    signal.addEventListener("abort", () => {
      end();
      reject(new Error(say.workers.ended));
    });
    worker.onmessage = ({ data: { nonce } }: MessageEvent<FromProver>) => {
      nonces.push(nonce);
      found(nonces.length);
      if (nonces.length < PARTS) return;
      end();
      resolve(nonces);
    };
    worker.onerror = ({ message }) => {
      end();
      reject(new Error(say.workers.failed(message)));
    };
    const { seed, bits } = question as { readonly seed: Bytes; readonly bits: number };
    worker.postMessage({ type: "prove", seed, bits } satisfies ToProver);
  });
