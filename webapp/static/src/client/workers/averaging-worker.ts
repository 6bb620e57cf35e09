/**
 * The worker that holds the bytes of a group, with promises. One worker serves all groups of a session, one after the
 * other.
 */

import { type FromAverager, type ToAverager, UnfitMember } from "../../core/messages/averaging";
import { failedAnswer } from "../../core/pending-calls";
import { WorkerRpc } from "./worker-rpc";
import "./script-policy";

/** The type of the answer to each question. */
type AveragingAnswers = {
  prepare: "prepared";
  keep_key: "key_kept";
  make_piece: "piece_made";
  keep_piece: "piece_kept";
  add_piece: "piece_made";
  reduce: "mean_kept";
  keep_mean: "mean_kept";
  copy_mean: "mean_copied";
  take: "taken";
  make_mean: "mean_made";
  check_means: "means_checked";
  remake_mean: "mean_remade";
  check_numbers: "numbers_checked";
  take_step: "step_taken";
  compare: "compared";
};

function spawnWorker(): Worker {
  return new Worker(new URL("../../workers/averaging/main.ts", import.meta.url), { type: "module" });
}

/** Rejects with an UnfitMember if a member sent unusable data. */
export class AveragingWorker extends WorkerRpc<ToAverager, FromAverager, AveragingAnswers> {
  constructor(spawn = spawnWorker) {
    super(spawn(), (answer) =>
      answer.type === "unfit" ? new UnfitMember(answer.place, answer.reason) : failedAnswer(answer),
    );
  }
}
