/**
 * Encodes a client's contribution to a masked sum as whole numbers (docs/reference/masked-rounds.md, "Values").
 * The twin is backend/numerics/masking/encoding.py, which describes the method; tests/contract/vectors/encoding.json
 * tests that both compute the same words.
 */

import { later } from "../../user-messages";
import { FULL_BITS, maskedWords } from "./bit-packing";
import { BOUND_FACTOR, rotate, span } from "./rotation";

/** Room for noise on top of the sum, in its standard deviations. */
const NOISE_DEVIATIONS = 10;
/** The largest standard deviation of a share of the noise, in whole numbers. */
const MAX_SHARE_DEVIATION = 2 ** 15;
/** The largest loss, or numerator or denominator per example, that can be encoded. */
const MAX_ENCODED = 1024;
const UNIT = 2 ** -32;

/**
 * The number of clients and values. Each client may add its share of noise, of which any `sharers` members' have the
 * standard deviation `noise`, in clips.
 */
export interface EncodingTerms {
  readonly members: number;
  readonly parameters: number;
  readonly rows: number;
  readonly bits: number;
  readonly clip: number;
  readonly noise: number;
  readonly sharers: number;
}

/**
 * The encoding of values. A whole number of a parameter, from -levels to levels, is worth `step`. `shareVariance` is
 * that of the whole numbers that a member adds to its parameters as its share of the noise.
 */
export interface MaskEncoding extends EncodingTerms {
  readonly words: number;
  readonly rotated: boolean;
  readonly levels: number;
  readonly furtherLevels: number;
  readonly step: number;
  readonly shareVariance: number;
}

/**
 * A client's contribution before encoding. Per example, `rows` has the numerator and denominator of each metric row
 * in turn; `weight` is from 0 to 1. If even the fact of clipping must stay hidden, a client is not `counted` among
 * those that were not clipped.
 */
export interface MaskedContribution {
  readonly update: Float32Array;
  readonly weight: number;
  readonly loss: number;
  readonly rows: readonly number[];
  readonly counted: boolean;
}

/** Returns the encoding. Throws RangeError if the number of bits is too small. */
export function encodingOf(terms: EncodingTerms): MaskEncoding {
  const { members, parameters, rows, bits, clip, noise, sharers } = terms;
  const rotated = bits < FULL_BITS;
  const bound = rotated ? clip * Math.min(1, BOUND_FACTOR / Math.sqrt(span(parameters))) : clip;
  const largest = 2 ** (bits - 1) - 1;
  const wholeNoise = noise * Math.sqrt(members / sharers);
  let levels = largest / (members + (NOISE_DEVIATIONS * wholeNoise * clip) / bound);
  if (noise > 0)
    levels = Math.min(levels, (MAX_SHARE_DEVIATION * Math.sqrt(sharers) * bound) / (noise * clip));
  levels = Math.floor(levels);
  const step = bound / levels;
  const share = (noise * clip) / step;
  if (!(levels >= 1))
    throw new RangeError(`${members} clients and their noise do not fit into ${bits} bits.`);
  const furtherLevels = Math.floor((2 ** 31 - 1) / (2 * members));
  return {
    ...terms,
    words: maskedWords(parameters, rows),
    rotated,
    levels,
    furtherLevels,
    step,
    shareVariance: Math.min((share * share) / sharers, MAX_SHARE_DEVIATION * MAX_SHARE_DEVIATION),
  };
}

/**
 * Returns the contribution of a client with `examples`, whose metrics counted `sums`; `full` examples have the weight
 * 1.
 */
export function contribution(
  update: Float32Array,
  examples: number,
  full: number,
  loss: number,
  sums: readonly number[],
): MaskedContribution {
  const rows = sums.map((sum) => (examples ? sum / examples : 0));
  return { update, weight: Math.min(1, examples / full), loss: examples ? loss : 0, rows, counted: true };
}

/** Returns the contribution of a client whose update alone is protected by noise: the update and nothing else. */
export function privateContribution(update: Float32Array, rows: number): MaskedContribution {
  return { update, weight: 1, loss: 0, rows: Array(2 * rows).fill(0), counted: false };
}

/**
 * Returns the factor that scales `update` to the L2 norm `clip`; 1 if the norm is not larger. Throws for NaN and
 * infinity.
 */
export function clipFactor(update: Float32Array, clip: number): number {
  let squares = 0;
  for (const value of update) squares += value * value;
  if (!Number.isFinite(squares)) {
    throw new RangeError(
      later("The update holds NaN or infinity. Lower the learning rate or try another backend."),
    );
  }
  const norm = Math.sqrt(squares);
  return norm <= clip ? 1 : clip / norm;
}

/**
 * Turns `words`, which must be uniformly random, into the encoding of a contribution. `signs` are the round's public
 * random words for the rotation. The initial random words must stay secret.
 */
export function encode(
  encoding: MaskEncoding,
  contribution: MaskedContribution,
  words: Uint32Array,
  signs?: Uint32Array,
): void {
  const { parameters, levels, furtherLevels, rotated, step } = encoding;
  if (words.length !== encoding.words || contribution.update.length !== parameters) {
    throw new RangeError(`${contribution.update.length} values do not go into ${words.length} words.`);
  }
  const whole = Math.floor(contribution.weight * furtherLevels + 0.5);
  const further = shares(encoding, contribution);
  const factor = clipFactor(contribution.update, encoding.clip);
  const values = rotated ? rotate(contribution.update, needed(signs)) : contribution.update;
  const weight = whole / furtherLevels;
  roundValues(values, (factor * weight) / step, levels, words.subarray(0, parameters));
  // These two are exact: means are divided by the first, and the second is counted.
  words[parameters] = whole;
  words[parameters + 1] = contribution.counted && factor === 1 ? furtherLevels : 0;
  roundValues(further, weight * furtherLevels, furtherLevels, words.subarray(parameters + 2));
}

/** Turns uniformly random `words` into `values` * `scale`, randomly rounded by them, from -levels to levels. */
export function roundValues(
  values: ArrayLike<number>,
  scale: number,
  levels: number,
  words: Uint32Array,
): void {
  for (let i = 0; i < words.length; i++) {
    const whole = Math.floor((values[i] as number) * scale + (words[i] as number) * UNIT);
    words[i] = Math.max(-levels, Math.min(levels, whole));
  }
}

/** Returns loss and metric rows as fractions of the largest value that can be encoded. */
function shares(encoding: MaskEncoding, { weight, loss, rows }: MaskedContribution): number[] {
  if (!(weight >= 0 && weight <= 1) || rows.length !== 2 * encoding.rows) {
    throw new RangeError(`A weight of ${weight} and ${rows.length} values of metrics cannot be told.`);
  }
  if (![loss, ...rows].every(Number.isFinite)) {
    throw new RangeError(later("The loss or metrics hold NaN or infinity. Lower the learning rate."));
  }
  const out = [Math.max(-MAX_ENCODED, Math.min(MAX_ENCODED, loss)) / MAX_ENCODED];
  for (let row = 0; row < encoding.rows; row++) {
    const pair = rows.slice(2 * row, 2 * row + 2);
    // If one is too large both are scaled down, so that their ratio is kept.
    const largest = Math.max(MAX_ENCODED, ...pair.map(Math.abs));
    out.push(...pair.map((value) => value / largest));
  }
  return out;
}

function needed(signs: Uint32Array | undefined): Uint32Array {
  if (signs === undefined) throw new RangeError("A rotated update needs the round's random signs.");
  return signs;
}
