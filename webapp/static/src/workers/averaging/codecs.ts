/** Encodes, adds up and decodes pieces of a group: plain, or masked for the members of a set. */

import type { Bytes } from "../../core/crypto/bytes";
import type { KeyPair } from "../../core/crypto/keys";
import { addMasks } from "../../core/crypto/keystream";
import { commonKey, type PadContext, pads } from "../../core/crypto/pads";
import { UnfitMember } from "../../core/messages/averaging";
import { type Reducer, reducePart, shares } from "../../core/numerics/aggregation/part-mean";
import {
  checked,
  decode,
  encode,
  type Precision,
  type Vector,
} from "../../core/numerics/aggregation/precision";
import {
  addPieces,
  checkedMean,
  checkedPiece,
  littleEndianBytes,
  type PartSubject,
  pieceWords,
  readMean,
} from "../../core/numerics/masking/masked-parts";

type CodecPlaces = readonly number[];

/** The members whose masked pieces are added up, and their weights in the same order; empty without masks. */
export interface MaskedFor {
  readonly places: CodecPlaces;
  readonly weights: readonly number[];
}

export const NOBODY: MaskedFor = { places: [], weights: [] };

export interface Coding {
  /**
   * Encodes the own piece of `part`. Throws a RangeError if `values` have NaN or infinity, an UnfitMember for an
   * unusable key.
   */
  piece(values: Float32Array, part: number, set: MaskedFor): Promise<Bytes>;
  /** Returns `bytes` if they can be a piece of this number of values. Throws an UnfitError otherwise. */
  checkPiece(bytes: Bytes, values: number): Bytes;
  checkMean(bytes: Bytes, values: number): Bytes;
  /** Returns the encoded mean of checked pieces. Throws an UnfitError if masks did not cancel. */
  reduce(pieces: readonly Bytes[], weights: readonly number[], values: number): Bytes;
  /** Returns the values of a checked mean. */
  read(mean: Bytes, values: number): Vector;
}

/** Plain pieces, which all members can read. */
export class PlainCoding implements Coding {
  constructor(
    private readonly precision: Precision,
    private readonly reducer: Reducer,
  ) {}

  async piece(values: Float32Array): Promise<Bytes> {
    return encode(values, this.precision);
  }

  checkPiece(bytes: Bytes, values: number): Bytes {
    return checked(bytes, values, this.precision);
  }

  checkMean(bytes: Bytes, values: number): Bytes {
    return checked(bytes, values, this.precision);
  }

  reduce(pieces: readonly Bytes[], weights: readonly number[], values: number): Bytes {
    return reducePart(pieces, weights, { values, precision: this.precision, reducer: this.reducer });
  }

  read(mean: Bytes, values: number): Vector {
    return decode(mean, values, this.precision);
  }
}

/** Masked pieces, of which only the sum over a set can be read (0032). */
export class MaskedCoding implements Coding {
  /** Public keys of other members, by place. */
  readonly #keys = new Map<number, Uint8Array>();
  /** The common keys agreed with them, by place. */
  readonly #common = new Map<number, Promise<Bytes>>();

  constructor(
    private readonly place: number,
    private readonly subject: PartSubject,
    private readonly keys: KeyPair,
    private readonly context: PadContext,
  ) {}

  /** Stores the key of the member at `place` in this group; the first one counts. */
  keepKey(place: number, key: Uint8Array): void {
    if (!this.#keys.has(place)) this.#keys.set(place, key);
  }

  async piece(values: Float32Array, part: number, { places, weights }: MaskedFor): Promise<Bytes> {
    const share = shares(weights)[places.indexOf(this.place)] as number;
    const words = pieceWords(values, share, this.subject);
    const others = places.filter((place) => place !== this.place);
    const common = await Promise.all(
      others.map(async (place) => [place, await this.#commonWith(place)] as const),
    );
    await addMasks(words, await pads(this.place, new Map(common), part, places));
    return littleEndianBytes(words);
  }

  checkPiece(bytes: Bytes, values: number): Bytes {
    return checkedPiece(bytes, values);
  }

  checkMean(bytes: Bytes, values: number): Bytes {
    return checkedMean(bytes, values);
  }

  reduce(pieces: readonly Bytes[], _weights: readonly number[], values: number): Bytes {
    return checkedMean(addPieces(pieces, values), values);
  }

  read(mean: Bytes): Vector {
    return readMean(mean, this.subject);
  }

  #commonWith(place: number): Promise<Bytes> {
    const made = this.#common.get(place) ?? this.#agree(place);
    this.#common.set(place, made);
    return made;
  }

  async #agree(place: number): Promise<Bytes> {
    const key = this.#keys.get(place);
    if (key === undefined) throw new Error(`The key of the member at place ${place} is not here.`);
    const common = await commonKey(this.keys, key, this.place, place, this.context);
    if (common === null) throw new UnfitMember(place, "Its key is none that one can agree with.");
    return common;
  }
}
