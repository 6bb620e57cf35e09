/**
 * Stores evidence against banned members of a Byzantine mesh, between sessions in the browser's storage. The twin is
 * backend/peer/mesh/byzantine/banned.py.
 */

import { type Bytes, fromHex, sha256, toHex } from "../../../core/crypto/bytes";
import { BrowserStore } from "../../../core/data/storage";
import type { Conviction } from "../../../protocol/mesh/byzantine/evidence/conviction";
import type { ByzantineFrame } from "../../../protocol/wire/mesh";

export type TellEvidence = Extract<ByzantineFrame, { readonly type: "tell_evidence" }>;

const MOST_BANS = 1024;
/** Bytes of all evidence; single ones may contain the pieces of a part. */
const MOST_STORED = 1 << 26;
/** Evidence of so many bytes is sent at once; longer one is asked for. */
const MOST_INLINE = 32 * 1024;

/** Why a key is banned, and the evidence with its SHA-256. */
export interface StoredBan {
  readonly conviction: Conviction;
  readonly sha256: string;
  readonly evidence: Bytes;
}

/** Evidence by identity. */
type StoredEvidence = Readonly<Record<string, Bytes>>;

/** Returns the frame about a ban; with the evidence if there is room for it in a frame, and it `isWhole`. */
export function banFrame({ conviction, sha256, evidence }: StoredBan, isWhole: boolean): TellEvidence {
  return {
    type: "tell_evidence",
    identity: fromHex(conviction.identity),
    digest: fromHex(sha256),
    size: evidence.length,
    data: isWhole && evidence.length <= MOST_INLINE ? evidence : new Uint8Array(),
  };
}

/** One piece of evidence for each banned key of a run. Only evidence that checks is taken, also from the storage. */
export class BanStore {
  readonly #bans = new Map<string, StoredBan>();
  readonly #store = new BrowserStore<StoredEvidence>("minga-bans", "evidence");

  /**
   * Evidence is stored by the task's full `address`. `convict` checks evidence against a member of the store's run, and
   * rejects with the reason if it convicts nobody.
   */
  constructor(
    private readonly address: string,
    private readonly convict: (evidence: Bytes) => Promise<Conviction>,
  ) {}

  /** All bans, in the order in which they came. */
  get bans(): readonly StoredBan[] {
    return [...this.#bans.values()];
  }

  isBanned(identity: string): boolean {
    return this.#bans.has(identity);
  }

  /** Whether there is room for evidence of so many bytes. */
  hasRoom(size: number): boolean {
    const stored = this.bans.reduce((sum, { evidence }) => sum + evidence.length, 0);
    return this.#bans.size < MOST_BANS && stored + size <= MOST_STORED;
  }

  /** Takes what is stored; damaged evidence, and that of other runs, is ignored. */
  async read(): Promise<void> {
    const stored = (await this.#store.get(this.address).catch(() => undefined)) ?? {};
    for (const evidence of Object.values(stored)) await this.#take(evidence).catch(() => null);
  }

  /**
   * Takes evidence that convicts a member who was not banned yet; null without room, too. Rejects with the reason
   * if it convicts nobody in this run: it is not to be passed on.
   */
  async add(evidence: Bytes): Promise<StoredBan | null> {
    const ban = await this.#take(evidence);
    if (ban === null) return null;
    const stored = Object.fromEntries(this.bans.map((one) => [one.conviction.identity, one.evidence]));
    // Without storage the ban lasts until the end of the session.
    await this.#store.put(this.address, stored).catch(() => undefined);
    return ban;
  }

  /** Whether evidence convicts a member of this run. */
  convicts(evidence: Bytes): Promise<boolean> {
    return this.convict(evidence).then(
      () => true,
      () => false,
    );
  }

  /** Returns the evidence of this SHA-256, for who fetches it. */
  find(digest: string): Bytes | null {
    return this.bans.find((ban) => ban.sha256 === digest)?.evidence ?? null;
  }

  async #take(evidence: Bytes): Promise<StoredBan | null> {
    const conviction = await this.convict(evidence);
    if (this.isBanned(conviction.identity) || !this.hasRoom(evidence.length)) return null;
    const ban = { conviction, sha256: toHex(await sha256(evidence)), evidence };
    this.#bans.set(conviction.identity, ban);
    return ban;
  }
}
