/**
 * Tells other members which keys are banned and why, and takes what they tell, if it checks. The twin is
 * backend/peer/mesh/byzantine/ban_exchange.py.
 */

import { toHex } from "../../../core/crypto/bytes";
import { MOST_TURNS, type TurnSaid } from "../../../protocol/mesh/byzantine/evidence/ban-evidence";
import { EvidenceBuilder, type FindBytes } from "../../../protocol/mesh/byzantine/evidence/building";
import type { Conviction } from "../../../protocol/mesh/byzantine/evidence/conviction";
import { identities } from "../../../protocol/mesh/byzantine/membership";
import type { Removal } from "../../../protocol/mesh/byzantine/round-events";
import type { AgreedState } from "../../../protocol/mesh/byzantine/state";
import type { WeightTransfer } from "../weight-transfer";
import { type BanStore, banFrame, type TellEvidence } from "./ban-store";
import type { StateLinks } from "./state-transfer";

/** A peer's evidence is ignored once so much of it convicted nobody, or did not come. */
const MOST_REFUSED = 3;

/** The part of the links that telling of bans needs. */
export interface BanLinks extends StateLinks {
  ban(identities: Iterable<string>): void;
}

export interface BanExchangeOptions {
  readonly task: string;
  readonly run: string;
  readonly store: BanStore;
  readonly links: BanLinks;
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
  /** What was said in the last rounds. */
  #turns: readonly TurnSaid[] = [];

  constructor(options: BanExchangeOptions) {
    this.#options = options;
  }

  /** Takes what is stored, and tells it to all that are linked by now. */
  async read(): Promise<void> {
    const { store, links, banned } = this.#options;
    await store.read();
    for (const { conviction } of store.bans) banned(conviction);
    this.cutOff();
    for (const client of links.linked) this.up(client);
  }

  /** Ends the links to members of these keys (hexadecimal), and to those whom stored evidence bans. */
  cutOff(identities: readonly string[] = []): void {
    const { store, links } = this.#options;
    links.ban([...identities, ...store.bans.map(({ conviction }) => conviction.identity)]);
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

  /** Tells all of a member that a round removed; `turn` has what convicts it, `find` finds bytes. */
  async removed(
    client: string,
    identity: string,
    why: Removal,
    turn: TurnSaid,
    find: FindBytes,
  ): Promise<void> {
    const built = await this.#builder(client, identity).removed(why, turn, find);
    if (built !== null) await this.#add(built);
  }

  /** Takes what was said in a round, and tells all of those whom the court convicted by it. */
  async roundEnded(before: AgreedState, after: AgreedState, said: TurnSaid): Promise<void> {
    this.#turns = [...this.#turns, said].slice(-MOST_TURNS);
    const turns = this.#turns;
    for (const [client, identity] of identities(before.membership)) {
      const { banned } = after.membership;
      if (!banned.includes(identity) || before.membership.banned.includes(identity)) continue;
      const built = await this.#builder(client, identity).convictedByCourt(turns);
      if (built !== null) await this.#add(built);
    }
  }

  #builder(client: string, identity: string): EvidenceBuilder {
    const { task, run, store } = this.#options;
    return new EvidenceBuilder(task, run, client, identity, (evidence) => store.convicts(evidence));
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
        this.cutOff();
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
