/**
 * Holds one client's secrets of one masked round and computes with them (docs/reference/masked-rounds.md). The
 * machine in protocol/secagg/member.ts decides what is computed, and in which order.
 */

import { type Bytes, concat, sha256 } from "../../core/crypto/bytes";
import {
  baseHash,
  contextHash,
  keysStatement,
  type MaskingTerms,
  ring,
  rosterHash,
  survivorsStatement,
} from "../../core/crypto/context";
import { choiceKey, rotationKey, type SealingKeys, sealingKeys } from "../../core/crypto/derive";
import { type Identity, isUsableKey, type KeyPair, keyPair, sign, verify } from "../../core/crypto/keys";
import type { Mask } from "../../core/crypto/keystream";
import { masksOf } from "../../core/crypto/masking";
import { seal, unseal } from "../../core/crypto/sealing";
import { isValidSecret, randomnessBytes, SECRET_BYTES, split } from "../../core/crypto/shamir";
import type { Keys, Member } from "../../core/messages/masking";

type Places = readonly number[];
/** Returns this number of random bytes, from the platform's generator. */
export type Random = (count: number) => Bytes;

/** A share and its tag; a client seals one of its seed and one of its mask key for each neighbour. */
const SEALED_SHARE_BYTES = SECRET_BYTES + 16;

/** Replaces a share that could not be opened: it is not below the prime, so the server ignores it. */
const NO_SHARE = new Uint8Array(SECRET_BYTES).fill(0xff);

/** The roster and values derived from it. */
interface Roster {
  readonly context: Bytes;
  readonly members: readonly Member[];
  readonly threshold: number;
}

/** The values of the round that all members know and masked values depend on. */
export interface Cohort {
  readonly members: number;
  readonly threshold: number;
  /** The key of the signs that rotate updates. */
  readonly rotation: Bytes;
  /** The key of the words that choose the values that are sent. */
  readonly choice: Bytes;
}

export class RoundSecrets {
  #roster: Roster | null = null;
  /**
   * What is revealed of secrets, by their owners' places: the keys that open others' shares, and the own shares. The
   * seed's is first.
   */
  readonly #revealable = new Map<number, SealingKeys>();
  readonly #agreements = new Map<number, Promise<Bytes>>();

  private constructor(
    private readonly random: Random,
    private readonly identity: Identity,
    private readonly base: Bytes,
    private readonly seed: Bytes,
    private readonly maskSecret: Bytes,
    private readonly maskKeys: KeyPair,
    private readonly shareKeys: KeyPair,
  ) {}

  /** Makes new secrets for the round that `terms` describe, and the keys for the server. */
  static async make(
    client: string,
    terms: MaskingTerms,
    identity: Identity,
    random: Random,
  ): Promise<{ readonly secrets: RoundSecrets; readonly keys: Keys }> {
    const [seed, maskSecret] = [randomSecret(random), randomSecret(random)];
    const [base, maskKeys, shareKeys, seed_hash] = await Promise.all([
      baseHash(terms),
      keyPair(maskSecret),
      keyPair(random(SECRET_BYTES)),
      sha256(seed),
    ]);
    const own = { client, mask_key: maskKeys.publicKey, share_key: shareKeys.publicKey, seed_hash };
    const signature = await sign(identity, keysStatement(base, own));
    const { client: _, ...publicKeys } = own;
    return {
      secrets: new RoundSecrets(random, identity, base, seed, maskSecret, maskKeys, shareKeys),
      keys: { type: "keys", round: terms.round, ...publicKeys, identity: identity.publicKey, signature },
    };
  }

  /** Takes the roster; returns the order of its ring, and the places of unusable or wrongly signed keys. */
  async checkRoster(
    members: readonly Member[],
    degree: number,
    threshold: number,
    signatures: boolean,
  ): Promise<{ readonly order: Places; readonly wrong: Places }> {
    const roster = await rosterHash(this.base, members);
    const context = await contextHash(this.base, roster, members.length, degree, threshold);
    this.#roster = { context, members, threshold };
    const sound = await Promise.all(members.map((member) => this.#isSound(member, signatures)));
    const clients = members.map(({ client }) => client);
    const wrong = members.flatMap((_, place) => (sound[place] ? [] : [place]));
    return { order: await ring(context, clients), wrong };
  }

  /** Splits both secrets into shares, keeps its own, and seals those of the neighbours. */
  async seal(place: number, threshold: number, neighbours: Places): Promise<Uint8Array[]> {
    const holders = [place, ...neighbours];
    const cut = (secret: Bytes) => split(secret, holders, threshold, this.random(randomnessBytes(threshold)));
    const [seeds, maskKeys] = [cut(this.seed), cut(this.maskSecret)];
    const shares = holders.map((_, i) => [seeds[i] as Bytes, maskKeys[i] as Bytes] as const);
    const [own, ...others] = shares as [SealingKeys, ...SealingKeys[]];
    this.#revealable.set(place, own);
    const { context } = this.#requireRoster();
    return Promise.all(
      others.map(async ([seed, maskKey], i) => {
        const to = neighbours[i] as number;
        const [seedKey, maskKeyKey] = await sealingKeys(await this.#agreementWith(to), context, place, to);
        return concat([
          await seal(seedKey, context, place, to, seed),
          await seal(maskKeyKey, context, place, to, maskKey),
        ]);
      }),
    );
  }

  /**
   * Opens the shares that `senders` sealed for `place`, and keeps their keys. Returns the places whose shares could
   * not be opened.
   */
  async open(place: number, senders: Places, sealed: readonly Uint8Array[]): Promise<Places> {
    const { context } = this.#requireRoster();
    const opened = await Promise.all(
      senders.map(async (from, i) => {
        const keys = await sealingKeys(await this.#agreementWith(from), context, from, place);
        const both = new Uint8Array(sealed[i] as Uint8Array);
        if (both.length !== 2 * SEALED_SHARE_BYTES) return false;
        const [seed, maskKey] = [both.slice(0, SEALED_SHARE_BYTES), both.slice(SEALED_SHARE_BYTES)];
        if ((await unseal(keys[0], context, from, place, seed)) === null) return false;
        if ((await unseal(keys[1], context, from, place, maskKey)) === null) return false;
        this.#revealable.set(from, keys);
        return true;
      }),
    );
    return senders.filter((_, i) => !opened[i]);
  }

  /** Returns the masks of the client at `place`: its own, and those with `pairs`. */
  masks(place: number, pairs: Places): Promise<Mask[]> {
    const { context, members } = this.#requireRoster();
    const keys = new Map(pairs.map((pair) => [pair, memberAt(members, pair).mask_key]));
    return masksOf(context, place, this.seed, this.maskKeys, keys);
  }

  async cohort(): Promise<Cohort> {
    const { context, members, threshold } = this.#requireRoster();
    const [rotation, choice] = await Promise.all([rotationKey(context), choiceKey(context)]);
    return { members: members.length, threshold, rotation, choice };
  }

  signSurvivors(alive: Places): Promise<Bytes> {
    return sign(this.identity, survivorsStatement(this.#requireRoster().context, alive));
  }

  /** Returns the places of those of the `vouchers` that did not sign the list `alive`. */
  async checkConsistencySignatures(
    alive: Places,
    vouchers: Places,
    signatures: readonly Uint8Array[],
  ): Promise<Places> {
    const { context, members } = this.#requireRoster();
    const statement = survivorsStatement(context, alive);
    const signed = await Promise.all(
      vouchers.map((voucher, i) =>
        verify(memberAt(members, voucher).identity, signatures[i] as Uint8Array, statement),
      ),
    );
    return vouchers.filter((_, i) => !signed[i]);
  }

  /** Returns what opens one share of each client in `seeds` and `maskKeys`, by their places; deletes the rest. */
  reveal(seeds: Places, maskKeys: Places): Uint8Array[] {
    const chosen = [
      ...seeds.map((place) => ({ place, share: this.#revealable.get(place)?.[0] })),
      ...maskKeys.map((place) => ({ place, share: this.#revealable.get(place)?.[1] })),
    ].sort((a, b) => a.place - b.place);
    this.#revealable.clear();
    return chosen.map(({ share }) => share ?? NO_SHARE);
  }

  async #isSound(member: Member, signatures: boolean): Promise<boolean> {
    if (!isUsableKey(member.mask_key) || !isUsableKey(member.share_key)) return false;
    return !signatures || verify(member.identity, member.signature, keysStatement(this.base, member));
  }

  #requireRoster(): Roster {
    if (this.#roster === null) throw new Error("The round's roster is not known yet.");
    return this.#roster;
  }

  /** Returns the agreement of the share keys of this client and the one at `place`: needed to seal and to open. */
  #agreementWith(place: number): Promise<Bytes> {
    const cached = this.#agreements.get(place);
    if (cached) return cached;
    const agreed = this.#agree(place);
    this.#agreements.set(place, agreed);
    return agreed;
  }

  async #agree(place: number): Promise<Bytes> {
    const agreed = await this.shareKeys.agree(memberAt(this.#requireRoster().members, place).share_key);
    if (agreed === null) throw new Error("A client's key is none that one can agree with.");
    return agreed;
  }
}

function memberAt(members: readonly Member[], place: number): Member {
  const member = members[place];
  if (member === undefined) throw new Error(`The round has no member at place ${place}.`);
  return member;
}

/** Draws a number below the prime, so that it can be shared. */
function randomSecret(random: Random): Bytes {
  for (;;) {
    const drawn = random(SECRET_BYTES);
    if (isValidSecret(drawn)) return drawn;
  }
}
