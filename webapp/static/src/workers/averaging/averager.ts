/**
 * The bytes of one group at one member: its own vector, the pieces of the others, and means. The machine in
 * protocol/allreduce/member.ts decides how they are used; the twin is in backend/peer/mesh/.
 */

import { type Bytes, concat, sha256, toHex } from "../../core/crypto/bytes";
import { UnfitMember } from "../../core/messages/averaging";
import { passOn, shares } from "../../core/numerics/aggregation/part-mean";
import { type Precision, UnfitError, type Vector } from "../../core/numerics/aggregation/precision";
import { type Coding, type MaskedFor, NOBODY } from "./codecs";

type AveragedPlaces = readonly number[];

/** The properties of a group that its member needs. Part i is the values from `bounds[i]` to `bounds[i + 1]`. */
export interface Group {
  readonly place: number;
  readonly bounds: readonly number[];
  /** The encoding of pieces and of a ring's sums. */
  readonly precision: Precision | "masked";
}

interface GroupMean {
  readonly contributors: AveragedPlaces;
  readonly bytes: Bytes;
}

export class PartAverager {
  /** Pieces by part, place and the members they are masked for; a ring's sums are among them. */
  readonly #pieces = new Map<string, Bytes>();
  /** Means by part and digest. */
  readonly #means = new Map<string, GroupMean>();

  constructor(
    private readonly vector: Float32Array,
    private readonly group: Group,
    private readonly coding: Coding,
  ) {}

  /** Returns the SHA-256 of each encoded piece. Throws a RangeError if the vector has NaN or infinity. */
  commitments(): Promise<Bytes[]> {
    return Promise.all(this.group.bounds.slice(1).map(async (_, part) => sha256(await this.ownPiece(part))));
  }

  /**
   * Returns the own piece, encoded and masked for `set`; always the same for one set, so that a pad hides only one
   * piece. Throws as Coding does.
   */
  async ownPiece(part: number, set: MaskedFor = NOBODY): Promise<Bytes> {
    const key = pieceKey(part, this.group.place, set.places);
    const made = this.#pieces.get(key) ?? (await this.coding.piece(this.#own(part), part, set));
    this.#pieces.set(key, made);
    return made;
  }

  /** Stores the piece of the member at `place` and `contributors`, and returns its SHA-256. Throws an UnfitMember. */
  async keepPiece(place: number, part: number, contributors: AveragedPlaces, bytes: Bytes): Promise<Bytes> {
    const values = this.#own(part).length;
    const piece = this.#fit(place, part, () => this.coding.checkPiece(bytes, values));
    this.#pieces.set(this.#pieceKey(part, place, contributors), piece);
    return sha256(bytes);
  }

  /** In a ring: returns the sum from `source` plus the own values times `weight`, encoded. */
  addPiece(part: number, source: number | null, weight: number): Bytes {
    const { precision } = this.group;
    if (precision === "masked") throw new Error("Masked pieces do not go around a ring.");
    const receivedSum = source === null ? null : this.#piece(sumKey(part, source), part, source);
    return passOn(receivedSum, this.#own(part), Math.fround(weight), precision);
  }

  /**
   * Computes and stores the mean of the pieces of `contributors`, and returns its digest. In a ring `source` sent the
   * sum of all but the own.
   */
  async reduce(
    part: number,
    contributors: AveragedPlaces,
    weights: readonly number[],
    source: number | null,
  ): Promise<Bytes> {
    if (source !== null) {
      const share = shares(weights)[contributors.indexOf(this.group.place)] ?? 0;
      return this.#keep(part, contributors, this.addPiece(part, source, share));
    }
    const set = this.#masked ? { places: contributors, weights } : NOBODY;
    const own = await this.ownPiece(part, set);
    const pieces = contributors.map((place) =>
      place === this.group.place ? own : this.#piece(pieceKey(part, place, set.places), part, place),
    );
    return this.#keep(part, contributors, this.coding.reduce(pieces, weights, this.#own(part).length));
  }

  /** Stores a mean that the member at `place` sent, and returns its digest. Throws an UnfitMember. */
  keepMean(place: number, part: number, contributors: AveragedPlaces, bytes: Bytes): Promise<Bytes> {
    const values = this.#own(part).length;
    const mean = this.#fit(place, part, () => this.coding.checkMean(bytes, values));
    return this.#keep(part, contributors, mean);
  }

  mean(part: number, digest: Uint8Array): GroupMean {
    const mean = this.#means.get(meanKey(part, digest));
    if (mean === undefined) throw new Error(`The mean of part ${part} is not here.`);
    return mean;
  }

  /** Returns the whole result, whose means have these digests. */
  take(digests: readonly Uint8Array[]): Vector {
    const { bounds } = this.group;
    const result = new Float32Array(bounds.at(-1) ?? 0);
    digests.forEach((digest, part) => {
      const values = this.coding.read(this.mean(part, digest).bytes, this.#own(part).length);
      result.set(values, bounds[part] ?? 0);
    });
    return result;
  }

  async #keep(part: number, contributors: AveragedPlaces, bytes: Bytes): Promise<Bytes> {
    const digest = await meanDigest(contributors, bytes);
    this.#means.set(meanKey(part, digest), { contributors, bytes });
    return digest;
  }

  get #masked(): boolean {
    return this.group.precision === "masked";
  }

  #fit(place: number, part: number, check: () => Bytes): Bytes {
    try {
      return check();
    } catch (error) {
      if (error instanceof UnfitError)
        throw new UnfitMember(place, `Part ${part} is of no use: ${error.message}`);
      throw error;
    }
  }

  #pieceKey(part: number, place: number, contributors: AveragedPlaces): string {
    const isSum = contributors.length > 0 && !this.#masked;
    return isSum ? sumKey(part, place) : pieceKey(part, place, contributors);
  }

  #piece(key: string, part: number, place: number): Bytes {
    const piece = this.#pieces.get(key);
    if (piece === undefined) throw new Error(`The piece of part ${part} from place ${place} is not here.`);
    return piece;
  }

  #own(part: number): Float32Array {
    const { bounds } = this.group;
    return this.vector.subarray(bounds[part], bounds[part + 1]);
  }
}

/** Returns the digest of contributors and bytes (0025, "The group machine"). */
function meanDigest(contributors: AveragedPlaces, bytes: Bytes): Promise<Bytes> {
  return sha256(concat([Uint8Array.of(contributors.length, ...contributors), bytes]));
}

function pieceKey(part: number, place: number, set: AveragedPlaces): string {
  return `${part}/${place}/${set.join()}`;
}

function sumKey(part: number, place: number): string {
  return `${part}/${place}/sum`;
}

function meanKey(part: number, digest: Uint8Array): string {
  return `${part}/${toHex(digest)}`;
}
