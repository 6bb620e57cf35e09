/**
 * What a client of a masked round adds to the sum, as whole numbers (docs/decisions/0017-masked-rounds.md, "Values").
 * `backend/numerics/masking/encoding.py` is the twin and says how; tests/contract/vectors/encoding.json holds both to
 * the same words.
 */

import { FULL_BITS, maskedWords } from "./bit-packing";
import { BOUND_FACTOR, rotate, span } from "./rotation";

/** Room for noise on top of the sum, in its standard deviations. */
const NOISE_DEVIATIONS = 10;
/** Most that the standard deviation of a share of the noise can be, in whole numbers. */
const MOST_SHARE = 2 ** 15;
/** Most that a loss, or a numerator or denominator per example, can be told as. */
const MOST_TOLD = 1024;
const UNIT = 2 ** -32;

/**
 * How many clients tell how many values. Each may add its share of noise, of which any `sharers` members' have the standard
 * deviation `noise`, in clips.
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
 * How clients tell their values. A whole number of a parameter, from -levels to levels, is worth `step`. `shareVariance`
 * is that of the whole numbers that a member adds to its parameters as its share of the noise.
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
 * Per example, `rows` holds the numerator and denominator of each metric row in turn; `weight` is from 0 to 1. Where not
 * even that it was clipped may be known, a client is not `counted` among those that were not.
 */
export interface MaskedContribution {
  readonly update: Float32Array;
  readonly weight: number;
  readonly loss: number;
  readonly rows: readonly number[];
  readonly counted: boolean;
}

/** Throws RangeError where nothing can be told in so few bits. */
export function encodingOf(terms: EncodingTerms): MaskEncoding {
  const { members, parameters, rows, bits, clip, noise, sharers } = terms;
  const rotated = bits < FULL_BITS;
  const bound = rotated ? clip * Math.min(1, BOUND_FACTOR / Math.sqrt(span(parameters))) : clip;
  const most = 2 ** (bits - 1) - 1;
  const wholeNoise = noise * Math.sqrt(members / sharers);
  let levels = most / (members + (NOISE_DEVIATIONS * wholeNoise * clip) / bound);
  if (noise > 0) levels = Math.min(levels, (MOST_SHARE * Math.sqrt(sharers) * bound) / (noise * clip));
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
    shareVariance: Math.min((share * share) / sharers, MOST_SHARE * MOST_SHARE),
  };
}

/** What a client with `examples` tells, whose metrics counted `sums`; `full` examples have the weight 1. */
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

/** What a client tells where its update is all that is protected by noise: its update and nothing else. */
export function privateContribution(update: Float32Array, rows: number): MaskedContribution {
  return { update, weight: 1, loss: 0, rows: Array(2 * rows).fill(0), counted: false };
}

/** What `update` is multiplied by, to have at most the L2 norm `clip`: 1 where it has. Throws for NaN and infinity. */
export function clipFactor(update: Float32Array, clip: number): number {
  let squares = 0;
  for (const value of update) squares += value * value;
  if (!Number.isFinite(squares)) {
    throw new RangeError("The update holds NaN or infinity. Lower the learning rate or try another backend.");
  }
  const norm = Math.sqrt(squares);
  return norm <= clip ? 1 : clip / norm;
}

/**
 * Turns `words`, which come as uniformly random ones, into those that tell `told`. `signs` are the round's public random
 * words for the rotation. Nobody may learn the random words that came.
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
  // These two are told exactly: means are divided by the one, and the other is counted.
  words[parameters] = whole;
  words[parameters + 1] = contribution.counted && factor === 1 ? furtherLevels : 0;
  roundValues(further, weight * furtherLevels, furtherLevels, words.subarray(parameters + 2));
}

/** Turns uniformly random `words` into `values` * `scale`, rounded by them, from -levels to levels. */
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

/** Loss and metric rows as shares of the most that can be told. */
function shares(encoding: MaskEncoding, { weight, loss, rows }: MaskedContribution): number[] {
  if (!(weight >= 0 && weight <= 1) || rows.length !== 2 * encoding.rows) {
    throw new RangeError(`A weight of ${weight} and ${rows.length} values of metrics cannot be told.`);
  }
  if (![loss, ...rows].every(Number.isFinite)) {
    throw new RangeError("The loss or metrics hold NaN or infinity. Lower the learning rate.");
  }
  const out = [Math.max(-MOST_TOLD, Math.min(MOST_TOLD, loss)) / MOST_TOLD];
  for (let row = 0; row < encoding.rows; row++) {
    const pair = rows.slice(2 * row, 2 * row + 2);
    // Made smaller together where one is too large: their ratio stays.
    const most = Math.max(MOST_TOLD, ...pair.map(Math.abs));
    out.push(...pair.map((value) => value / most));
  }
  return out;
}

function needed(signs: Uint32Array | undefined): Uint32Array {
  if (signs === undefined) throw new RangeError("A rotated update needs the round's random signs.");
  return signs;
}
