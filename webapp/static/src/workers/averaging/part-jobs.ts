/**
 * The calculations of a Byzantine round: pure functions of bytes, whatever a liar sent. The twin is
 * backend/peer/mesh/byzantine/part_jobs.py.
 */

import { type Bytes, sameBytes } from "../../core/crypto/bytes";
import type { FromPartWorker, ToPartWorker } from "../../core/messages/part-jobs";
import { outerStep, sum } from "../../core/numerics/aggregation/outer-step";
import {
  agreement,
  type LikenessAgreement,
  likeness,
  shortestCompared,
} from "../../core/numerics/aggregation/result-agreement";
import { meanOfPart, partNumbers, partValues } from "../../core/numerics/butterfly/part-values";
import { joined } from "../../core/numerics/butterfly/parts";

type PartJob<T extends ToPartWorker["type"]> = Omit<Extract<ToPartWorker, { readonly type: T }>, "id">;
/** An answer without its number. */
type PartAnswer = FromPartWorker extends infer M
  ? M extends { readonly id: number }
    ? Omit<M, "id">
    : never
  : never;

export function performPartJob(job: ToPartWorker): PartAnswer {
  switch (job.type) {
    case "make_mean":
      return { type: "mean_made", bytes: bytesOf(meanOfPart(valuesOf(job), job.radius)) };
    case "check_means":
      return checkMeans(job);
    case "remake_mean": {
      const pieces = valuesOf(job);
      const mean = meanOfPart(pieces, job.radius);
      const numbers = partNumbers(pieces, mean, job.radius, job.seed, job.part);
      return { type: "mean_remade", bytes: bytesOf(mean), ...numbers };
    }
    case "check_numbers":
      return { type: "numbers_checked", are_right: areRight(job) };
    case "take_step":
      return takeStep(job);
    case "compare":
      return { type: "compared", ...compare(job) };
  }
}

function checkMeans({
  means: encoded,
  sizes,
  own,
  part,
  pieces,
  radii,
  seed,
}: PartJob<"check_means">): PartAnswer {
  const means = encoded.map((mean, number) => partValues(mean, sizes[number] as number));
  const numbersOf = (number: number, bytes: readonly Bytes[]) => {
    const values = bytes.map((one) => partValues(one, sizes[number] as number));
    return partNumbers(values, means[number] as Float32Array, radii[number] as number, seed, number);
  };
  const numbers = means.map((_, number) => numbersOf(number, [own[number] as Bytes]));
  const { products: own_products, lengths: own_lengths } = numbersOf(part, pieces);
  const [products, lengths] = [numbers.flatMap((one) => one.products), numbers.flatMap((one) => one.lengths)];
  return { type: "means_checked", products, lengths, own_products, own_lengths };
}

/** Colluders hide a wrong mean by false numbers (Gorbunov et al. 2022, CheckComputations). */
function areRight({ means, sizes, pieces, radii, seed, said }: PartJob<"check_numbers">): boolean {
  return sizes.every((size, part) => {
    const piece = partValues(pieces[part] as Bytes, size);
    const mean = partValues(means[part] as Bytes, size);
    const { products, lengths } = partNumbers([piece], mean, radii[part] as number, seed, part);
    return said.products[part] === products[0] && said.lengths[part] === lengths[0];
  });
}

/** Without means weights and momentum stay as they are. */
function takeStep({ outer, base, slots, trainable, means, sizes }: PartJob<"take_step">): PartAnswer {
  if (means.length === 0) return { type: "step_taken", weights: base, slots };
  const mean = joined(means.map((one, part) => partValues(one, sizes[part] as number)));
  const { way, memory } = outerStep(outer, mean, trainable, floatsOf(slots));
  return { type: "step_taken", weights: bytesOf(sum(floatsOf(base), way)), slots: bytesOf(memory) };
}

/** Values that are not finite count as zeros on both sides. */
function compare({ made, shown, base, steps, tolerance }: PartJob<"compare">) {
  const sizes = made.map((piece) => piece.length / 4);
  const whole = (pieces: readonly Bytes[]) =>
    joined(pieces.map((piece, part) => partValues(piece, sizes[part] as number)));
  const [own, theirs] = [whole(made), whole(shown)];
  if (tolerance === null) {
    const found: LikenessAgreement = sameBytes(bytesOf(own), bytesOf(theirs)) ? "same" : "other";
    return { found, distance: null };
  }
  const measured = likeness(own, theirs, shortestCompared(floatsOf(base), steps, tolerance));
  return { found: agreement(measured, tolerance), distance: measured.distance };
}

function valuesOf({ pieces, size }: { readonly pieces: readonly Bytes[]; readonly size: number }) {
  return pieces.map((piece) => partValues(piece, size));
}

function floatsOf(bytes: Bytes): Float32Array<ArrayBuffer> {
  return new Float32Array(bytes.slice().buffer);
}

function bytesOf(values: Float32Array): Bytes {
  return new Uint8Array(values.slice().buffer as ArrayBuffer);
}
