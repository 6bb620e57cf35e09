/**
 * By whom this browser is known in masked rounds and in meshes, and whom it has met there: kept in IndexedDB, and where a browser keeps
 * nothing, as long as the page is open.
 */

import { type Bytes, sameBytes } from "../../core/crypto/bytes";
import { type Identity, makeIdentity } from "../../core/crypto/keys";
import { BrowserStore } from "../../core/data/storage";

/** A client and the identity that it came with. */
export interface KnownClient {
  readonly client: string;
  readonly identity: Uint8Array;
}

/** Where identities are kept; tests bring another. */
export interface IdentityStore<T> {
  get(name: string): Promise<T | undefined>;
  putFirst(name: string, thing: T): Promise<T>;
}

/** How a roster's clients compare with those met before. */
export interface RosterComparison {
  /** Places of clients whose identity is not the one they had. */
  readonly changed: readonly number[];
  /** Places of clients that were met before. */
  readonly met: readonly number[];
}

export class TrustStore {
  readonly #own: IdentityStore<Identity>;
  readonly #others: IdentityStore<Uint8Array>;
  #visit: Identity | null = null;
  /** Those met while this page is open. */
  readonly #met = new Map<string, Uint8Array>();

  constructor(
    own: IdentityStore<Identity> = new BrowserStore("minga-identity", "own"),
    others: IdentityStore<Uint8Array> = new BrowserStore("minga-met", "identities"),
  ) {
    this.#own = own;
    this.#others = others;
  }

  /** The identity of this browser, made when it is first asked for. */
  async own(): Promise<Identity> {
    this.#visit ??= (await this.#own.get("identity").catch(() => undefined)) ?? (await this.#make());
    return this.#visit;
  }

  /** Looks the clients of a roster up; `own` is this client itself. */
  async compare(members: readonly KnownClient[], own: string): Promise<RosterComparison> {
    const identities = await Promise.all(members.map(({ client }) => this.#identityOf(client)));
    const places = members.flatMap(({ client }, place) =>
      identities[place] && client !== own ? [place] : [],
    );
    const same = (place: number) =>
      sameBytes(identities[place] as Uint8Array, (members[place] as KnownClient).identity);
    return { changed: places.filter((place) => !same(place)), met: places.filter(same) };
  }

  /** From now on each of these clients is known by its identity. */
  async meet(members: readonly KnownClient[]): Promise<void> {
    for (const { client, identity } of members) {
      const copy: Bytes = new Uint8Array(identity);
      this.#met.set(client, copy);
      await this.#others.putFirst(client, copy).catch(() => copy);
    }
  }

  async #make(): Promise<Identity> {
    const made = await makeIdentity((count) => crypto.getRandomValues(new Uint8Array(count)));
    return this.#own.putFirst("identity", made).catch(() => made);
  }

  async #identityOf(client: string): Promise<Uint8Array | undefined> {
    return this.#met.get(client) ?? (await this.#others.get(client).catch(() => undefined));
  }
}
