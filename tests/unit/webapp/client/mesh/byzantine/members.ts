/** Members of a Byzantine mesh in one process, whose rounds go over real links. */

import { vi } from "vitest";
import { RoundContents } from "../../../../../../webapp/static/src/client/mesh/byzantine/contents";
import {
  type AgreedRound,
  ByzantineExchange,
} from "../../../../../../webapp/static/src/client/mesh/byzantine/exchange";
import type { AveragingWorker } from "../../../../../../webapp/static/src/client/workers/averaging-worker";
import { type Bytes, sha256, toHex } from "../../../../../../webapp/static/src/core/crypto/bytes";
import { uniform } from "../../../../../../webapp/static/src/core/numerics/philox";
import type { TurnSaid } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/evidence/ban-evidence";
import { firstState } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/first-state";
import { rolesOf } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/roles";
import type { Removal } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/round-events";
import type { AgreedState } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/state";
import type { ByzantineRules, GroupOrder } from "../../../../../../webapp/static/src/protocol/wire/mesh";
import { Mesh, type Peer } from "../../transports/mesh";
import { averagingWorker } from "../workers";

export const VALUES = 3001;
export const TASK = "digits";

/** Rules of a mesh whose members give vectors of their own. */
export function rulesOf(terms: Partial<ByzantineRules["terms"]> = {}): ByzantineRules {
  const usual = { validators: 1, radius: 1, far: 4, probation: 100, audits: 5, seconds: 20, patience: 3 };
  return {
    terms: { ...usual, ...terms },
    bundle: "ab".repeat(32),
    run: "cd".repeat(32),
    outer: { kind: "nesterov", learning_rate: 0.5, momentum: 0.9 },
    steps: 10,
    batch_size: 8,
    learning_rate: 0.1,
    tolerance: null,
    shards: [{ sha256: "ef".repeat(32), examples: 100 }],
  };
}

/** A member's vector, near one that all share, as gradients are. */
export function updateOf(place: number): Float32Array<ArrayBuffer> {
  const common = uniform(7, 0, 0, VALUES);
  const own = uniform(7, place + 1, 0, VALUES);
  return Float32Array.from(common, (value, i) => 0.01 * (value - 0.5 + 0.3 * ((own[i] as number) - 0.5)));
}

/** What happens to the answers of a member's calculations. */
export type Lie = (worker: AveragingWorker) => AveragingWorker;

export class ByzantineCompany {
  readonly removed = new Map<string, { readonly client: string; readonly why: Removal }[]>();
  /** The statements that convict a removed client, by who heard them. */
  readonly convicting = new Map<string, TurnSaid>();
  readonly #mesh = new Mesh();
  readonly #contents = new Map<string, RoundContents>();
  readonly #workers = new Map<string, AveragingWorker>();
  #exchanges: ByzantineExchange[] = [];

  /** Returns so many members, all linked with each other. */
  static async of(count: number): Promise<ByzantineCompany> {
    const company = new ByzantineCompany();
    for (let place = 0; place < count; place++) {
      const peer = await company.#mesh.add(place.toString(16).padStart(16, "0"));
      company.#contents.set(peer.client, new RoundContents());
      company.#workers.set(peer.client, await averagingWorker());
    }
    company.#mesh.introduce();
    await vi.waitFor(
      () => {
        for (const { links } of company.peers)
          if (links.linked.length < count - 1) throw new Error("Not all are linked yet.");
      },
      { timeout: 240_000, interval: 20 },
    );
    return company;
  }

  get peers(): readonly Peer[] {
    return this.#mesh.peers;
  }

  /** The bytes that a member has, and who calculates for it. */
  partsOf(client: string): { readonly contents: RoundContents; readonly worker: AveragingWorker } {
    const [contents, worker] = [this.#contents.get(client), this.#workers.get(client)];
    if (contents === undefined || worker === undefined) throw new Error(`There is no ${client}.`);
    return { contents, worker };
  }

  identities(): Map<string, string> {
    return new Map(this.peers.map(({ client, identity }) => [client, toHex(identity.publicKey)]));
  }

  /** Returns the bytes that a member has. */
  find(client: string, digest: string): Bytes | null {
    return this.#contents.get(client)?.find(digest) ?? null;
  }

  /** The first state of these members, and its weights. */
  async begin(rules: ByzantineRules): Promise<{ readonly state: AgreedState; readonly weights: Bytes }> {
    const weights = new Uint8Array(4 * VALUES);
    return { state: firstState(rules, toHex(await sha256(weights)), this.identities()), weights };
  }

  /** Plays the round after `state`; members with null as their lie are gone. Returns how the others ended. */
  async play(
    rules: ByzantineRules,
    { state, weights, slots = new Uint8Array() }: { state: AgreedState; weights: Bytes; slots?: Bytes },
    lies: ReadonlyMap<number, Lie | null> = new Map(),
  ): Promise<readonly AgreedRound[]> {
    const order = this.#order(state.round + 1);
    const { audits } = rolesOf(state, rules.terms.validators);
    const results: Promise<AgreedRound>[] = [];
    for (const [place, peer] of this.peers.entries()) {
      const lie = lies.get(place);
      if (lie === null) continue;
      const update = audits.has(peer.client) ? null : updateOf(place);
      const given = { rules, state, update, judgements: [], weights, slots, trainable: VALUES };
      const exchange = this.#exchange(order, peer, given, lie);
      if (lie === undefined) results.push(exchange.result);
    }
    for (const exchange of this.#exchanges) exchange.start();
    return Promise.all(results);
  }

  close(): void {
    for (const exchange of this.#exchanges) exchange.close();
    for (const worker of this.#workers.values()) worker.terminate();
    this.#mesh.close();
  }

  #exchange(
    order: GroupOrder,
    peer: Peer,
    given: ConstructorParameters<typeof ByzantineExchange>[0]["given"],
    lie: Lie | undefined,
  ): ByzantineExchange {
    const { client, identity, links } = peer;
    const honest = this.#workers.get(client) as AveragingWorker;
    const removed: { readonly client: string; readonly why: Removal }[] = [];
    this.removed.set(client, removed);
    const exchange = new ByzantineExchange({
      order,
      given,
      task: TASK,
      own: client,
      identity,
      clients: this.identities(),
      links,
      worker: lie?.(honest) ?? honest,
      contents: this.#contents.get(client) as RoundContents,
      removed: (other, why, said) => {
        removed.push({ client: other, why });
        if (said !== null) this.convicting.set(client, said);
      },
    });
    peer.hear = (from, frame) => {
      if (frame.type === "say" || frame.type === "show") exchange.receive(from, frame);
    };
    peer.lost = (other) => exchange.down(other);
    this.#exchanges = [...this.#exchanges, exchange];
    return exchange;
  }

  /** What the server would say to them. */
  #order(round: number): GroupOrder {
    const members = this.peers.map(({ client }) => client);
    return {
      type: "group",
      round,
      group: 1,
      members,
      bounds: [0, VALUES],
      exchange: "butterfly",
      precision: "float32",
      subject: "changes",
      reducer: "mean",
      least: (members.length >> 1) + 1,
      most_weight: 1,
      patience: 3,
      seconds: 90,
      quorum: 1,
    };
  }
}
