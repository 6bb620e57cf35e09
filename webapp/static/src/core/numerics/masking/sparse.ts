/**
 * The share of an update that everybody in a masked round sends, and what a client still owes of the others.
 * `backend/numerics/masking/sparse.py` is the twin and says how; tests/contract/vectors/sparse.json holds both to the
 * same places.
 */

/** Values that are sent or left together. */
const BLOCK = 64;

/** What is sent of vectors of `parameters` values: `blocks`, which ascend, and what follows the last one. */
export interface ChosenValues {
  readonly parameters: number;
  readonly blocks: Uint32Array;
}

/** Whole blocks of so many values: as many random words as a draw takes. */
export function blockCount(parameters: number): number {
  return Math.floor(parameters / BLOCK);
}

/** Values that are sent of `parameters`, whatever the draw. */
export function chosenValues(parameters: number, share: number): number {
  return BLOCK * chosenBlocks(parameters, share) + (parameters % BLOCK);
}

/** The blocks with the smallest of `words`, one for each, the earlier one where two are the same. */
export function choose(parameters: number, share: number, words: Uint32Array): ChosenValues {
  const order = Uint32Array.from(words, (_, block) => block);
  order.sort((a, b) => (words[a] as number) - (words[b] as number) || a - b);
  return { parameters, blocks: order.slice(0, chosenBlocks(parameters, share)).sort() };
}

/** Takes what is sent out of `values`, where zeros are left in its place. */
export function takeChosen(
  { parameters, blocks }: ChosenValues,
  values: Float32Array,
): Float32Array<ArrayBuffer> {
  const rest = BLOCK * blockCount(parameters);
  const sent = new Float32Array(BLOCK * blocks.length + parameters - rest);
  const take = (from: number, until: number, to: number) => {
    sent.set(values.subarray(from, until), to);
    values.fill(0, from, until);
  };
  for (const [i, block] of blocks.entries()) take(BLOCK * block, BLOCK * (block + 1), BLOCK * i);
  take(rest, parameters, BLOCK * blocks.length);
  return sent;
}

/**
 * What a client's updates that count left unsent, by the version that they began with.
 *
 * An update counts when it was accepted; if its round is abandoned nevertheless, the same version is trained again. So
 * what was left at that version or later is forgotten then, and what was left before is back.
 */
export class Residual {
  /** One that may still be forgotten, and the one before it. */
  #left: readonly { readonly version: number; readonly values: Float32Array }[] = [];

  /** What an update of `parameters` from `version` has to take along; null where nothing is left. */
  own(version: number, parameters: number): Float32Array | null {
    this.#left = this.#left.filter((one) => one.version < version);
    const values = this.#left.at(-1)?.values;
    return values?.length === parameters ? values : null;
  }

  /** An update from `version` counts that left these values unsent. */
  keep(version: number, values: Float32Array): void {
    const before = this.#left.filter((one) => one.version < version).slice(-1);
    this.#left = [...before, { version, values }];
  }
}

function chosenBlocks(parameters: number, share: number): number {
  return Math.ceil(share * blockCount(parameters));
}
