/**
 * Signs the results of groups, and collects the other survivors' signatures; shows how the last group ended. The twin is
 * backend/peer/mesh/result_signer.py.
 */

import type { Identity } from "../../core/crypto/keys";
import { inEnglish, type UserMessage } from "../../core/user-messages";
import type { GroupAveraged, GroupFailed } from "../../protocol/mesh/member-events";
import type { Certificate, GroupOrder } from "../../protocol/wire/mesh";
import { type AttestFrame, CertificateCollector } from "./certificate-collector";
import type { GroupLinks } from "./sender";

/** How a group ended for a member that has its result. */
export interface GroupNumbers {
  /** Places of all members that have the same result. */
  readonly survivors: readonly number[];
  /** The share of all members' weight in the result. */
  readonly fraction: number;
  readonly seconds: number;
}

/**
 * A group of which this peer is, or was, a member. `outcome` is null until there is one; `holders` counts the
 * survivors that signed it, since others may have been lost before they had it.
 */
export interface GroupView {
  readonly order: GroupOrder;
  readonly outcome: (GroupNumbers & { readonly holders: number }) | null;
  /** Why there is no outcome. */
  readonly reason: UserMessage | null;
}

/** What certificates name besides the result: the bundle, and the task's run. */
export interface CertifiedRun {
  readonly bundle: string;
  readonly run: string;
}

export interface ResultSignerOptions {
  readonly task: string;
  /** This peer's public id. */
  readonly own: string;
  readonly identity: Identity;
  readonly links: GroupLinks;
  /** Returns the key of a peer by its public id. */
  readonly identityOf: (client: string) => Uint8Array | null;
  readonly ended: (report: GroupAveraged | GroupFailed) => void;
  readonly certified: (certificate: Certificate) => void;
  readonly changed: () => void;
}

export class ResultSigner {
  readonly #options: ResultSignerOptions;
  #attesting: CertificateCollector | null = null;
  #view: GroupView | null = null;

  constructor(options: ResultSignerOptions) {
    this.#options = options;
  }

  get view(): GroupView | null {
    return this.#view;
  }

  /** Shows that this peer is a member of a group. */
  begin(order: GroupOrder): void {
    this.#show({ order, outcome: null, reason: null });
  }

  /** Reports that the group has no result for this peer. */
  fail(order: GroupOrder, reason: UserMessage): void {
    if (this.#view) this.#show({ ...this.#view, reason });
    const { round, group } = order;
    this.#options.ended({ type: "failed", round, group, reason: inEnglish(reason).slice(0, 500) });
  }

  /** Signs `weights` (SHA-256), sends the signature to all survivors, and reports the result. */
  async sign(
    order: GroupOrder,
    { survivors, fraction, seconds }: GroupNumbers,
    { bundle, run }: CertifiedRun,
    weights: string,
  ): Promise<void> {
    const { task, own, identity, identityOf, links, ended } = this.#options;
    const { round, group, members } = order;
    const clients = survivors.map((place) => members[place] as string);
    const keys = new Map<string, Uint8Array>();
    for (const client of clients) {
      const key = identityOf(client);
      if (key !== null) keys.set(client, key);
    }
    const ending = { bundle, run, round, group, survivors: clients, weights };
    const least = Math.max(order.least, (clients.length >> 1) + 1);
    this.#attesting = new CertificateCollector(task, ending, keys, least);
    const attest = await this.#attesting.sign(own, identity);
    for (const client of clients) if (client !== own) links.send(client, attest);
    const { holders } = this.#attesting;
    if (this.#view) this.#show({ ...this.#view, outcome: { survivors, fraction, seconds, holders } });
    const { signature } = attest;
    ended({ type: "averaged", round, group, weights, survivors, fraction, seconds, signature });
  }

  /** Whether the signature belongs to the last result. */
  isOf({ round, group }: AttestFrame): boolean {
    const ending = this.#attesting?.ending;
    return ending?.round === round && ending.group === group;
  }

  /**
   * Takes a survivor's signature; reports the certificate that it completes. Who is no survivor holds the weights, but
   * has no part in the certificate.
   */
  async add(client: string, frame: AttestFrame): Promise<void> {
    const attesting = this.#attesting;
    if (!attesting?.ending.survivors.includes(this.#options.own)) return;
    const certificate = await attesting.addSignature(client, frame);
    if (attesting === this.#attesting) this.#showHolders(attesting);
    if (certificate) this.#options.certified(certificate);
  }

  #showHolders({ ending, holders }: CertificateCollector): void {
    const { order, outcome } = this.#view ?? {};
    if (!this.#view || !outcome || order?.round !== ending.round || order.group !== ending.group) return;
    this.#show({ ...this.#view, outcome: { ...outcome, holders } });
  }

  #show(view: GroupView): void {
    this.#view = view;
    this.#options.changed();
  }
}
