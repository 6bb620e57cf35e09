/** The worker of one masked round, with promises: ending it deletes all secrets of the round. */

import type { FromMasker, ToMasker } from "../../core/messages/masking";
import { type QuestionOf, WorkerRpc } from "./worker-rpc";
import "./script-policy";

/** The type of the answer to each question. */
type MaskingAnswers = {
  make_keys: "keys_made";
  check_roster: "roster_checked";
  seal: "shares_sealed";
  open: "shares_opened";
  expand: "expanded";
  mask: "masked";
  sign_survivors: "survivors_signed";
  check_vouchers: "vouchers_checked";
  make_reveal: "revealed";
};

export type MaskingQuestion<Q extends keyof MaskingAnswers> = QuestionOf<ToMasker, Q>;

function spawnWorker(): Worker {
  return new Worker(new URL("../../workers/masking/main.ts", import.meta.url), { type: "module" });
}

export class MaskingWorker extends WorkerRpc<ToMasker, FromMasker, MaskingAnswers> {
  constructor(spawn = spawnWorker) {
    super(spawn());
  }
}
