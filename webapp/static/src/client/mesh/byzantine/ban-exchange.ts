/**
 * Takes evidence that other members tell, if it checks, and passes it on; peers make it of what they heard. The twin is
 * backend/peer/mesh/byzantine/ban_exchange.py.
 */

import { toHex } from "../../../core/crypto/bytes";
import type { Conviction } from "../../../protocol/mesh/byzantine/evidence/conviction";
import type { WeightTransfer } from "../weight-transfer";
import { type BanStore, banFrame, type TellEvidence } from "./ban-store";
import type { StateLinks } from "./state-transfer";

/** After so many times that its evidence convicted nobody, or did not come, a peer's evidence is ignored. */
const MOST_REFUSED = 3;

export interface BanExchangeOptions {
  readonly store: BanStore;
  readonly links: StateLinks;
  readonly fetching: WeightTransfer;
  /** A member is banned on new evidence. */
  readonly banned: (conviction: Conviction) => void;
}

export class BanExchange {
  readonly #options: BanExchangeOptions;
  /** One of each peer at a time: what else it tells meanwhile, it tells again when it is linked again. */
  readonly #taking = new Set<string>();
  readonly #refused = new Map<string, number>();
  /** Evidence is checked one after the other. */
  #adding: Promise<unknown> = Promise.resolve();

  constructor(options: BanExchangeOptions) {
    this.#options = options;
  }

  /** Takes what is stored, and tells it to all that are linked by now. */
  async read(): Promise<void> {
    const { store, links, banned } = this.#options;
    await store.read();
    for (const { conviction } of store.bans) banned(conviction);
    for (const client of links.linked) this.up(client);
  }

  /** Tells a peer that has just been linked which bans this one can show. */
  up(client: string): void {
    const { store, links } = this.#options;
    for (const ban of store.bans) links.send(client, banFrame(ban, false));
  }

  /** Takes evidence, or asks for its bytes. That of a known ban is ignored. */
  async received(client: string, { identity, digest, size, data }: TellEvidence): Promise<void> {
    const { store, fetching } = this.#options;
    const isRefused = (this.#refused.get(client) ?? 0) >= MOST_REFUSED;
    const isWanted = !store.isBanned(toHex(identity)) && store.hasRoom(size);
    if (!isWanted || isRefused || this.#taking.has(client)) return;
    this.#taking.add(client);
    try {
      const whole = data.length === size ? new Uint8Array(data) : null;
      const evidence = whole ?? (await fetching.fetch(toHex(digest), size, [client]));
      // One that does not come takes time of other downloads, too.
      if (evidence === null || !(await this.#add(evidence))) this.#refuse(client);
    } finally {
      this.#taking.delete(client);
    }
  }

  #refuse(client: string): void {
    this.#refused.set(client, (this.#refused.get(client) ?? 0) + 1);
  }

  /** Stores evidence of a new ban and tells all; returns whether it convicts somebody. */
  #add(evidence: Uint8Array<ArrayBuffer>): Promise<boolean> {
    const { store, links, banned } = this.#options;
    const added = this.#adding.then(async () => {
      try {
        const ban = await store.add(evidence);
        if (ban === null) return true;
        banned(ban.conviction);
        for (const client of links.linked) links.send(client, banFrame(ban, true));
        return true;
      } catch {
        // Whatever a stranger's bytes made fail, they convict nobody.
        return false;
      }
    });
    this.#adding = added;
    return added;
  }
}
