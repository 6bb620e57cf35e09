/** The worker that checks evidence against members of a mesh, with promises. */

import type { Bytes } from "../../core/crypto/bytes";
import type { EvidenceAnswer, EvidenceQuestion } from "../../protocol/mesh/byzantine/evidence/check-messages";
import type { Conviction } from "../../protocol/mesh/byzantine/evidence/conviction";
import { WorkerRpc } from "./worker-rpc";
import "./script-policy";

function spawnWorker(): Worker {
  return new Worker(new URL("../../workers/evidence/main.ts", import.meta.url), { type: "module" });
}

export class EvidenceWorker extends WorkerRpc<EvidenceQuestion, EvidenceAnswer, { convict: "convicted" }> {
  constructor(spawn = spawnWorker) {
    super(spawn());
  }

  /** Returns whom evidence convicts in this run of a task; rejects with the reason if it convicts nobody. */
  async convict(evidence: Bytes, task: string, run: string): Promise<Conviction> {
    return (await this.ask({ type: "convict", evidence, task, run })).conviction;
  }
}
