/**
 * The entry of the worker that checks evidence against members of a mesh: it makes means again of bytes that strangers
 * send, which may take seconds. Neither the page nor a round waits for it.
 */

import { messageOf } from "../../core/user-messages";
import type { EvidenceAnswer, EvidenceQuestion } from "../../protocol/mesh/byzantine/evidence/check-messages";

const scope = self as unknown as DedicatedWorkerGlobalScope;

async function answer({ id, evidence, task, run }: EvidenceQuestion): Promise<EvidenceAnswer> {
  try {
    // What is imported late must not import from a worker's entry (vite.config.ts).
    const { convict } = await import("../../protocol/mesh/byzantine/evidence/conviction");
    return { type: "convicted", id, conviction: await convict(evidence, task, run) };
  } catch (error) {
    return { type: "failed", id, problem: messageOf(error) };
  }
}

scope.onmessage = async ({ data }: MessageEvent<EvidenceQuestion>) => {
  scope.postMessage(await answer(data));
};
