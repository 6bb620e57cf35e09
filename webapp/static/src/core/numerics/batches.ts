/**
 * The order in which a participant visits its examples, identical on every kind of participant.
 * backend/numerics/philox.py is the Python twin; tests/contract/vectors/batches.json tests both.
 *
 * The examples of the plan's shards are numbered in the order of the shards. Each epoch (counted from 1) visits a
 * permutation of these numbers, cut into consecutive batches; the last one may be short.
 */

import { later, UserError } from "../user-messages";
import { philoxWords } from "./philox";

/** The Philox stream of the shuffle; random inputs of the graph count theirs from 0. */
const SHUFFLE_STREAM = 0xffffffff;
/** Below this, the products in `permutation` are exact in float64. */
const MAX_EXAMPLES = 2 ** 21;

/** Shuffles 0..n-1 by Fisher-Yates (Durstenfeld 1964, algorithm 235) with the words of (seed, epoch). */
export function permutation(seed: number, epoch: number, n: number): Uint32Array {
  if (n > MAX_EXAMPLES) {
    throw new UserError(
      later("A round may hold at most %(most)s examples per participant; plan fewer shards.", {
        most: MAX_EXAMPLES,
      }),
    );
  }
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  const words = philoxWords(seed, epoch, SHUFFLE_STREAM, Math.max(n - 1, 0));
  for (let last = n - 1; last > 0; last--) {
    const word = words[n - 1 - last] as number;
    const other = Math.floor((word / 2 ** 32) * (last + 1));
    const swapped = order[last] as number;
    order[last] = order[other] as number;
    order[other] = swapped;
  }
  return order;
}

/**
 * The steps of a plan over a client's examples. The twin is backend/numerics/walk.py;
 * tests/contract/vectors/walks.json tests both.
 */
export interface Walk {
  readonly seed: number;
  readonly epochs: number;
  /** The number of steps, epoch after epoch; if 0, `epochs` determine it. */
  readonly steps: number;
  /** Rows of a step; the bundle's batch is padded to its full size. */
  readonly batchSize: number;
  /** The first steps that are skipped, since somebody else took them; if left out, none. */
  readonly firstStep?: number;
}

/** Returns the steps of a client with `count` examples. */
export function walkLength({ epochs, steps, batchSize, firstStep = 0 }: Walk, count: number): number {
  return steps > 0 ? steps : Math.max(0, epochs * Math.ceil(count / batchSize) - firstStep);
}

/** Returns the example numbers of each batch of one epoch; all but the last have `batchSize` of them. */
export function batches(seed: number, epoch: number, n: number, batchSize: number): Uint32Array[] {
  const order = permutation(seed, epoch, n);
  const count = Math.ceil(n / batchSize);
  return Array.from({ length: count }, (_, i) => order.subarray(i * batchSize, (i + 1) * batchSize));
}
