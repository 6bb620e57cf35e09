/**
 * The entry of the averaging worker: encodes, hashes and adds up for one group at a time, and calculates for Byzantine
 * rounds, off the page's thread.
 */

import { keyPair } from "../../core/crypto/keys";
import { type FromAverager, type ToAverager, UnfitMember } from "../../core/messages/averaging";
import { later, messageOf } from "../../core/user-messages";
import { PartAverager } from "./averager";
import { MaskedCoding, PlainCoding } from "./codecs";
import { performPartJob } from "./part-jobs";

/** An answer without its number. */
type AveragingAnswer = FromAverager extends infer M
  ? M extends { readonly id: number }
    ? Omit<M, "id">
    : never
  : never;

const scope = self as unknown as DedicatedWorkerGlobalScope;
let averager: PartAverager | null = null;
/** Set if the group's pieces are masked. */
let masked: MaskedCoding | null = null;
/** Messages are processed one after the other. */
let work: Promise<void> = Promise.resolve();

function current(): PartAverager {
  if (averager === null) throw new Error("There is no group to average in.");
  return averager;
}

async function prepare(message: Extract<ToAverager, { readonly type: "prepare" }>): Promise<AveragingAnswer> {
  const { commit, context, place, precision, reducer, subject } = message;
  const vector = new Float32Array(message.vector);
  if (precision !== "masked") {
    masked = null;
    averager = new PartAverager(vector, message, new PlainCoding(precision, reducer));
    const commitments = commit ? await averager.commitments() : [];
    return { type: "prepared", commitments, key: new Uint8Array() };
  }
  if (!vector.every(Number.isFinite)) {
    throw new RangeError(later("The weights hold NaN or infinity. Lower the learning rate."));
  }
  // New for each group, and kept in this worker.
  const keys = await keyPair(crypto.getRandomValues(new Uint8Array(32)));
  masked = new MaskedCoding(place, subject, keys, context);
  averager = new PartAverager(vector, message, masked);
  return { type: "prepared", commitments: [], key: keys.publicKey };
}

async function perform(message: ToAverager): Promise<AveragingAnswer> {
  switch (message.type) {
    case "prepare":
      return prepare(message);
    case "keep_key":
      masked?.keepKey(message.place, message.key);
      return { type: "key_kept" };
    case "make_piece": {
      const { part, contributors, weights } = message;
      const piece = await current().ownPiece(part, { places: contributors, weights });
      // A copy, because the page takes ownership of the bytes.
      return { type: "piece_made", bytes: piece.slice() };
    }
    case "keep_piece": {
      const { place, part, contributors, bytes } = message;
      return { type: "piece_kept", digest: await current().keepPiece(place, part, contributors, bytes) };
    }
    case "add_piece":
      return {
        type: "piece_made",
        bytes: current().addPiece(message.part, message.source, message.weight),
      };
    case "reduce": {
      const { part, contributors, weights, source } = message;
      return { type: "mean_kept", digest: await current().reduce(part, contributors, weights, source) };
    }
    case "keep_mean": {
      const { place, part, contributors, bytes } = message;
      return { type: "mean_kept", digest: await current().keepMean(place, part, contributors, bytes) };
    }
    case "copy_mean": {
      const { contributors, bytes } = current().mean(message.part, message.digest);
      return { type: "mean_copied", contributors, bytes: bytes.slice() };
    }
    case "take": {
      const vector = current().take(message.parts);
      // The group's bytes are not needed any more.
      averager = masked = null;
      return { type: "taken", vector };
    }
    default:
      return performPartJob(message);
  }
}

function problem(error: unknown): AveragingAnswer {
  if (error instanceof UnfitMember) return { type: "unfit", place: error.place, reason: error.message };
  return { type: "failed", problem: messageOf(error) };
}

/** Returns the buffers that are transferred to the page. */
function buffers(answer: AveragingAnswer): ArrayBuffer[] {
  if (answer.type === "piece_made" || answer.type === "mean_copied") return [answer.bytes.buffer];
  return answer.type === "taken" ? [answer.vector.buffer] : [];
}

scope.onmessage = ({ data }: MessageEvent<ToAverager>) => {
  const { id } = data;
  work = work
    .then(() => perform(data))
    .catch(problem)
    .then((answer) => scope.postMessage({ ...answer, id }, buffers(answer)));
};
