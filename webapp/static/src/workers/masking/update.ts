/** Converts the update of a masked round from values to the bytes that are sent. */

import type { Bytes } from "../../core/crypto/bytes";
import type { MaskingTerms } from "../../core/crypto/context";
import { addMasks, type Mask } from "../../core/crypto/keystream";
import { packUpdate } from "../../core/numerics/masking/bit-packing";
import {
  clipFactor,
  contribution,
  encode,
  encodingOf,
  type MaskEncoding,
  type MaskedContribution,
  privateContribution,
} from "../../core/numerics/masking/encoding";
import { signWords } from "../../core/numerics/masking/rotation";
import {
  blockCount,
  type ChosenValues,
  choose,
  chosenValues,
  takeChosen,
} from "../../core/numerics/masking/sparse";
import { Skellam } from "../../core/numerics/privacy/skellam";
import type { Cohort, Random } from "./secrets";

/** The number of parameters that get their noise at a time. */
const NOISE_BLOCK = 1 << 16;

/** Everything that takes long and does not depend on the update. */
export interface Expanded {
  readonly encoding: MaskEncoding;
  /** Random words by which values are rounded; they stay secret. */
  readonly chances: Uint32Array;
  /** The sum of all masks, and this client's share of the noise. */
  readonly masks: Uint32Array;
  /** Random words that all clients of the round know; undefined without a rotation. */
  readonly signs: Uint32Array | undefined;
  /** The values that are sent; null if all are. */
  readonly chosen: ChosenValues | null;
}

/** The trained update and its statistics. */
export interface Trained {
  readonly update: Float32Array;
  readonly examples: number;
  readonly loss: number;
  /** Numerator and denominator of each metric row in turn. */
  readonly sums: readonly number[];
  /** Whether every client weighs the same and sends its update alone. */
  readonly alone: boolean;
}

/** Expands `masks` for a round with this cohort. */
export async function expand(
  { parameters, rows, masking }: MaskingTerms,
  { members, threshold, rotation, choice }: Cohort,
  masks: readonly Mask[],
  random: Random,
): Promise<Expanded> {
  const { bits, clip, noise, share, min_clients } = masking;
  // At least this many clients survive a successful round: their shares make up the whole noise.
  const sharers = Math.max(min_clients, threshold);
  const values = chosenValues(parameters, share);
  const encoding = encodingOf({ members, parameters: values, rows, bits, clip, noise, sharers });
  const sum = await keystream(encoding.words, masks);
  if (noise > 0) await addNoise(sum.subarray(0, values), encoding.shareVariance, random);
  const chances = await keystream(encoding.words, [{ key: random(32), sign: 1 }]);
  const signs = encoding.rotated
    ? await keystream(signWords(values), [{ key: rotation, sign: 1 }])
    : undefined;
  const chosen =
    share < 1
      ? choose(parameters, share, await keystream(blockCount(parameters), [{ key: choice, sign: 1 }]))
      : null;
  return { encoding, chances, masks: sum, signs, chosen };
}

/**
 * Returns the values to send if only a share of them is sent, and the residual. `owed` is the residual of earlier
 * updates, which is added first; null if there is none. Changes `update`. Throws a RangeError for NaN and infinity.
 */
export function shareUpdate(
  { chosen }: Expanded,
  update: Float32Array<ArrayBuffer>,
  owed: Float32Array | null,
): { readonly sent: Float32Array; readonly left: Float32Array<ArrayBuffer> | null } {
  if (chosen === null) return { sent: update, left: null };
  owed?.forEach((value, i) => {
    update[i] = (update[i] as number) + value;
  });
  // The residual must be finite, too, because it is sent later.
  clipFactor(update, Number.POSITIVE_INFINITY);
  return { sent: takeChosen(chosen, update), left: update };
}

/**
 * Returns the bytes of a masked update of the values that are sent. Consumes what was expanded for it. Throws a
 * RangeError for NaN and infinity.
 */
export function maskUpdate(expanded: Expanded, trained: Trained, full: number): Bytes {
  const { encoding, masks, signs } = expanded;
  const words = expanded.chances;
  encode(encoding, contributionOf(trained, full, encoding.rows), words, signs);
  for (let i = 0; i < words.length; i++) words[i] = (words[i] as number) + (masks[i] as number);
  return packUpdate(words, encoding.parameters, encoding.bits);
}

function contributionOf(
  { update, examples, loss, sums, alone }: Trained,
  full: number,
  rows: number,
): MaskedContribution {
  return alone ? privateContribution(update, rows) : contribution(update, examples, full, loss, sums);
}

/** Adds this client's share of the noise, from a new secret key. */
async function addNoise(words: Uint32Array, variance: number, random: Random): Promise<void> {
  const skellam = new Skellam(variance);
  for (let from = 0; from < words.length; from += NOISE_BLOCK) {
    const part = words.subarray(from, from + NOISE_BLOCK);
    const drawn = skellam.draw(await keystream(2 * part.length, [{ key: random(32), sign: 1 }]));
    for (let i = 0; i < part.length; i++) part[i] = (part[i] as number) + (drawn[i] as number);
  }
}

async function keystream(count: number, masks: readonly Mask[]): Promise<Uint32Array> {
  const words = new Uint32Array(count);
  await addMasks(words, masks);
  return words;
}
