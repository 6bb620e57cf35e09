/**
 * This browser's identity in masked rounds and meshes, and the identities of the clients it has met. Stored in
 * IndexedDB; in a browser without storage, until the page closes.
 */

import { type Bytes, sameBytes } from "../../core/crypto/bytes";
import { type Identity, makeIdentity } from "../../core/crypto/keys";
import { BrowserStore } from "../../core/data/storage";

/** A client and the identity that it presented. */
export interface KnownClient {
  readonly client: string;
  readonly identity: Uint8Array;
}

/** The storage of identities; tests replace it. */
export interface IdentityStore<T> {
  get(name: string): Promise<T | undefined>;
  putFirst(name: string, thing: T): Promise<T>;
}

/** The comparison of a roster's clients with those met before. */
export interface RosterComparison {
  /** Places of clients whose identity differs from the earlier one. */
  readonly changed: readonly number[];
  /** Places of clients that were met before. */
  readonly met: readonly number[];
}

export class TrustStore {
  readonly #ownIdentities: IdentityStore<Identity>;
  readonly #otherIdentities: IdentityStore<Uint8Array>;
  #identity: Identity | null = null;
  /** The identities met while this page is open. */
  readonly #metIdentities = new Map<string, Uint8Array>();

  constructor(
    own: IdentityStore<Identity> = new BrowserStore("minga-identity", "own"),
    others: IdentityStore<Uint8Array> = new BrowserStore("minga-met", "identities"),
  ) {
    this.#ownIdentities = own;
    this.#otherIdentities = others;
  }

  /** Returns the identity of this browser, and makes it on the first call. */
  async own(): Promise<Identity> {
    this.#identity ??=
      (await this.#ownIdentities.get("identity").catch(() => undefined)) ?? (await this.#make());
    return this.#identity;
  }

  /** Compares the clients of a roster with those known; `own` is this client itself. */
  async compare(members: readonly KnownClient[], own: string): Promise<RosterComparison> {
    const identities = await Promise.all(members.map(({ client }) => this.#identityOf(client)));
    const places = members.flatMap(({ client }, place) =>
      identities[place] && client !== own ? [place] : [],
    );
    const same = (place: number) =>
      sameBytes(identities[place] as Uint8Array, (members[place] as KnownClient).identity);
    return { changed: places.filter((place) => !same(place)), met: places.filter(same) };
  }

  /** Stores each client's identity. */
  async remember(members: readonly KnownClient[]): Promise<void> {
    for (const { client, identity } of members) {
      const copy: Bytes = new Uint8Array(identity);
      this.#metIdentities.set(client, copy);
      await this.#otherIdentities.putFirst(client, copy).catch(() => copy);
    }
  }

  async #make(): Promise<Identity> {
    const made = await makeIdentity((count) => crypto.getRandomValues(new Uint8Array(count)));
    return this.#ownIdentities.putFirst("identity", made).catch(() => made);
  }

  async #identityOf(client: string): Promise<Uint8Array | undefined> {
    return (
      this.#metIdentities.get(client) ?? (await this.#otherIdentities.get(client).catch(() => undefined))
    );
  }
}
