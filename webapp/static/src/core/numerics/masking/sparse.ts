/**
 * The share of an update that all clients of a masked round send, and the residual that a client keeps. The twin is
 * backend/numerics/masking/sparse.py, which describes the method; tests/contract/vectors/sparse.json tests that both
 * choose the same places.
 */

/** Values that are sent or left together. */
const BLOCK = 64;

/**
 * The values sent of vectors of `parameters` values: `blocks`, in ascending order, and the values after the last
 * whole block.
 */
export interface ChosenValues {
  readonly parameters: number;
  readonly blocks: Uint32Array;
}

/** Returns the number of whole blocks, which is the number of random words that a draw takes. */
export function blockCount(parameters: number): number {
  return Math.floor(parameters / BLOCK);
}

/** Returns the number of values sent of `parameters`, which does not depend on the draw. */
export function chosenValues(parameters: number, share: number): number {
  return BLOCK * chosenBlocks(parameters, share) + (parameters % BLOCK);
}

/** Chooses the blocks with the smallest of `words`, one word for each; of equal ones the earlier. */
export function choose(parameters: number, share: number, words: Uint32Array): ChosenValues {
  const order = Uint32Array.from(words, (_, block) => block);
  order.sort((a, b) => (words[a] as number) - (words[b] as number) || a - b);
  return { parameters, blocks: order.slice(0, chosenBlocks(parameters, share)).sort() };
}

/** Takes the chosen values out of `values`, and leaves zeros in their place. */
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
 * The values that a client's counted updates left unsent, by the version that they began with.
 *
 * An update counts when it was accepted. If its round is abandoned and the same version trained again, the residual of
 * that version or a later one is dropped, and the earlier one is restored. If it failed after reveals, the next version
 * is trained: what was sent is lost, and the residual stays.
 */
export class Residual {
  /** A residual that may still be dropped, and the one before it. */
  #left: readonly { readonly version: number; readonly values: Float32Array }[] = [];

  /** Returns the residual that an update of `parameters` from `version` has to include; null if there is none. */
  own(version: number, parameters: number): Float32Array | null {
    this.#left = this.#left.filter((one) => one.version < version);
    const values = this.#left.at(-1)?.values;
    return values?.length === parameters ? values : null;
  }

  /** Stores the residual of a counted update from `version`. */
  keep(version: number, values: Float32Array): void {
    const earlier = this.#left.filter((one) => one.version < version).slice(-1);
    this.#left = [...earlier, { version, values }];
  }
}

function chosenBlocks(parameters: number, share: number): number {
  return Math.ceil(share * blockCount(parameters));
}
