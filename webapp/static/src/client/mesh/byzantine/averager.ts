/**
 * Takes part in the rounds of a Byzantine mesh, as a member with a seat or on probation. Owns the attempts at rounds.
 * The twin is backend/peer/mesh/byzantine/averager.py.
 */

import { toHex } from "../../../core/crypto/bytes";
import type { Identity } from "../../../core/crypto/keys";
import { coinCommitment, NOTHING_BEFORE } from "../../../core/crypto/statements";
import { cut } from "../../../core/numerics/butterfly/parts";
import { inEnglish, later, messageOf, type UserMessage } from "../../../core/user-messages";
import type { TellState } from "../../../protocol/mesh/byzantine/encoded-state";
import type { TurnSaid } from "../../../protocol/mesh/byzantine/evidence/ban-evidence";
import { firstState } from "../../../protocol/mesh/byzantine/first-state";
import { identities, present } from "../../../protocol/mesh/byzantine/membership";
import { basisOf, rolesOf } from "../../../protocol/mesh/byzantine/roles";
import type { Removal } from "../../../protocol/mesh/byzantine/round-events";
import type { AgreedState } from "../../../protocol/mesh/byzantine/state";
import { encodeBody } from "../../../protocol/mesh/byzantine/statement-bodies";
import type { GroupFrame, GroupOrder } from "../../../protocol/wire/mesh";
import type { LinkManager } from "../../transports/links";
import type { AveragingWorker } from "../../workers/averaging-worker";
import { EarlyFrames } from "../early-frames";
import { GroupError } from "../exchange";
import type { ResultSigner } from "../result-signer";
import type { BanExchange } from "./ban-exchange";
import { ROUNDS_KEPT, type RoundContents } from "./contents";
import { ByzantineExchange, UnknownStateError } from "./exchange";
import type { PreparedRound } from "./learner";
import type { MeshStates } from "./mesh-states";
import { RoundSignatures, type SayFrame } from "./round-signatures";
import { RoundWatch } from "./round-watch";
import type { ShowFrame } from "./shown-bytes";
import type { ModelSize, StateTransfer } from "./state-transfer";

const MOST_ATTEMPTS = 3;
const COIN_BYTES = 32;

/** The frames of Byzantine rounds; of ordinary groups' only `attest` counts. */
export type RoundFrame = GroupFrame | SayFrame | ShowFrame;

export interface ByzantineAveragerOptions {
  readonly task: string;
  /** This peer's public id. */
  readonly own: string;
  readonly identity: Identity;
  readonly links: LinkManager;
  readonly states: MeshStates;
  readonly contents: RoundContents;
  readonly transfer: StateTransfer;
  readonly worker: AveragingWorker;
  readonly results: ResultSigner;
  readonly model: () => ModelSize;
  /** Whether this peer never joins the group of this round and number. */
  readonly declines: (round: number, group: number) => boolean;
  /** Sends to the server. */
  readonly tellServer: (frame: TellState) => void;
  readonly bans: BanExchange;
  readonly removed: (client: string, why: Removal) => void;
}

export class ByzantineAverager {
  readonly #options: ByzantineAveragerOptions;
  readonly #exchanges = new Map<string, ByzantineExchange>();
  readonly #early: EarlyFrames<GroupFrame | SayFrame>;
  #watch: RoundWatch | null = null;
  /** The number of rounds that were left: what they find is not reported. */
  #left = 0;

  constructor(options: ByzantineAveragerOptions) {
    this.#options = options;
    const { links, declines } = options;
    this.#early = new EarlyFrames({ send: (client, frame) => links.send(client, frame), declines });
  }

  /** Takes part in a round, and reports how it ended. */
  async average(order: GroupOrder, prepared: PreparedRound): Promise<void> {
    const { results } = this.#options;
    const left = this.#left;
    const begunAt = now();
    this.#early.join(order);
    this.#closeEnded();
    results.begin(order);
    try {
      const clients = await this.#takePart(order, prepared);
      const { newest } = this.#options.states;
      if (newest !== null) this.#options.bans.cutOff(newest.membership.banned);
      if (left === this.#left) await this.#sign(order, clients, now() - begunAt);
    } catch (problem) {
      if (left === this.#left) results.fail(order, messageOf(problem));
    }
  }

  /** Leaves the current round. */
  abort(): void {
    this.#left += 1;
    for (const [key, exchange] of this.#exchanges) {
      if (exchange.isSettled) continue;
      exchange.close();
      this.#exchanges.delete(key);
    }
  }

  /** Ends all attempts. */
  close(): void {
    this.#left += 1;
    for (const exchange of this.#exchanges.values()) exchange.close();
    this.#exchanges.clear();
    this.#early.close();
  }

  down(client: string): void {
    for (const exchange of this.#exchanges.values()) exchange.down(client);
  }

  /** Takes the server's return, which may not know the newest state. */
  serverReached(): void {
    const { states, tellServer } = this.#options;
    this.#early.serverReached();
    if (states.proof !== null) tellServer(states.proof);
  }

  /** Takes a frame of a round's member. */
  receive(client: string, frame: RoundFrame): void {
    const exchange = this.#exchanges.get(nameOf(frame));
    if (frame.type === "attest" && this.#options.results.isOf(frame))
      void this.#options.results.add(client, frame);
    else if ((frame.type === "say" || frame.type === "show") && exchange) exchange.receive(client, frame);
    else if (frame.type === "give_up" && this.#watch?.failed(client, frame)) this.#options.transfer.wake();
    else if (frame.type === "say" || frame.type === "attest") this.#early.keep(client, frame);
  }

  /** Returns the clients that ended the round together. */
  async #takePart(order: GroupOrder, prepared: PreparedRound): Promise<readonly string[]> {
    const state = prepared.state ?? this.#founded(order, prepared);
    const seated = present(state.membership, state.round + 1);
    const here = seated.filter((client) => order.members.includes(client));
    if (2 * here.length <= seated.length)
      throw new GroupError(later("This group leaves out most of the members with a seat."));
    if (!seated.includes(this.#options.own)) return this.#follow(order, state, prepared);
    return this.#exchange(order, state, prepared);
  }

  /** Returns the first state, in which all members of the first group have a seat. */
  #founded({ members }: GroupOrder, { hash }: PreparedRound): AgreedState {
    const founders = this.#identities(members);
    if (founders.size < members.length)
      throw new GroupError(later("The keys of some members are not known yet."));
    return firstState(this.#options.states.rules, hash, founders);
  }

  #identities(clients: readonly string[]): Map<string, string> {
    const { own, identity, links } = this.#options;
    const found = new Map([[own, toHex(identity.publicKey)]]);
    for (const client of clients) {
      const key = links.identityOf(client);
      if (key !== null) found.set(client, toHex(key));
    }
    return found;
  }

  /** Runs the round's machine. */
  async #exchange(
    order: GroupOrder,
    state: AgreedState,
    prepared: PreparedRound,
  ): Promise<readonly string[]> {
    const { task, own, identity, links, states, contents, worker, model } = this.#options;
    const { update, judgements, weights } = prepared;
    const slots = prepared.state === null ? new Uint8Array() : states.slots;
    const { trainable } = model();
    const given = { rules: states.rules, state, update, judgements, weights, slots, trainable };
    const clients = this.#identities(order.members);
    const exchange = new ByzantineExchange({
      order,
      given,
      task,
      own,
      identity,
      clients,
      links,
      worker,
      contents,
      removed: (client, why, said) => this.#removed(state, client, why, said),
    });
    this.#exchanges.set(nameOf(order), exchange);
    exchange.start();
    this.#hearEarly(order);
    try {
      const outcome = await exchange.result;
      await this.#keep(outcome);
      void this.#options.bans.roundEnded(state, outcome.state, outcome.said);
      const { active, proof } = outcome;
      this.#options.transfer.tell(order.members.filter((client) => !active.includes(client)));
      this.#options.tellServer(proof);
      return active;
    } catch (problem) {
      if (!(problem instanceof UnknownStateError)) {
        this.#tellFailure(order, state, messageOf(problem));
        throw problem;
      }
      this.#options.transfer.want(problem.state);
      await this.#options.transfer.catchUp();
      return this.#survivors(state.round + 1);
    }
  }

  /** Tells members without a part in the round, who wait for its result. */
  #tellFailure({ round, group, members }: GroupOrder, state: AgreedState, reason: UserMessage): void {
    const seated = present(state.membership, state.round + 1);
    const { links } = this.#options;
    for (const client of members.filter((one) => !seated.includes(one)))
      links.send(client, { type: "give_up", round, group, view: 0, reason: inEnglish(reason).slice(0, 500) });
  }

  #removed(state: AgreedState, client: string, why: Removal, said: TurnSaid | null): void {
    const { bans, contents, removed } = this.#options;
    removed(client, why);
    const identity = identities(state.membership).get(client);
    if (said !== null && identity !== undefined)
      void bans.removed(client, identity, why, said, (digest) => contents.find(digest));
  }

  async #keep({ state, weights, slots, proof, work }: Awaited<ByzantineExchange["result"]>): Promise<void> {
    const { transfer, states, contents } = this.#options;
    await transfer.keep(state, weights, slots);
    states.take(state, proof, slots, work);
    contents.forgetBefore(state.round - ROUNDS_KEPT);
    void states.write(weights);
  }

  /** Works without a seat: commits to its work to earn one, and takes the next state from others. */
  async #follow(order: GroupOrder, state: AgreedState, prepared: PreparedRound): Promise<readonly string[]> {
    const { own, transfer } = this.#options;
    const until = now() + order.seconds;
    const hasSeat = state.membership.seats.some(({ client }) => client === own);
    if (!hasSeat) await this.#commit(order, state, prepared);
    const watch = new RoundWatch(order, present(state.membership, state.round + 1));
    this.#watch = watch;
    await transfer.follow(state.round + 1, until, () => watch.isLost);
    return this.#survivors(state.round + 1);
  }

  async #commit(order: GroupOrder, state: AgreedState, { update }: PreparedRound): Promise<void> {
    if (update === null) return;
    const { task, own, identity, links, states, contents } = this.#options;
    const { rules } = states;
    const { workers, active } = rolesOf(state, rules.terms.validators);
    const round = state.round + 1;
    const pieces = await Promise.all(cut(update, workers.length).map((piece) => contents.keep(round, piece)));
    const [coin, salt] = [draw(), draw()];
    const basis = basisOf(state, [order.round, order.group], active);
    const body = encodeBody({
      type: "commit",
      pieces,
      coin: toHex(coinCommitment(own, coin, salt)),
      judgements: [],
    });
    const said = { identity: identity.publicKey, phase: "commit", before: NOTHING_BEFORE, body };
    const signatures = new RoundSignatures(identity, { round: order.round, group: order.group });
    const frame = await signatures.say({ task, run: rules.run, round, turn: 1, basis }, said);
    for (const client of order.members) if (client !== own) links.send(client, frame);
  }

  /** Returns who ended a round together, if this peer has its state by now. */
  #survivors(round: number): readonly string[] {
    const { newest, proof } = this.#options.states;
    if (newest === null || proof === null || newest.round < round)
      throw new GroupError(later("The members' next state did not arrive here in time."));
    return proof.active;
  }

  async #sign(order: GroupOrder, clients: readonly string[], seconds: number): Promise<void> {
    const { results, states } = this.#options;
    const { newest, rules } = states;
    if (newest === null) return;
    const survivors = order.members.flatMap((client, place) => (clients.includes(client) ? [place] : []));
    const fraction = survivors.length / order.members.length;
    await results.sign(order, { survivors, fraction, seconds }, rules, newest.weights);
    this.#hearEarly(order);
  }

  #hearEarly({ round, group }: GroupOrder): void {
    for (const { client, frame } of this.#early.take(round, group)) this.receive(client, frame);
  }

  /** Closes attempts that nobody asks about any more, and old ones: each has vectors in memory. */
  #closeEnded(): void {
    for (const [key, exchange] of this.#exchanges) {
      if (!exchange.over && this.#exchanges.size <= MOST_ATTEMPTS) continue;
      exchange.close();
      this.#exchanges.delete(key);
    }
  }
}

function draw(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(COIN_BYTES));
}

function nameOf({ round, group }: { readonly round: number; readonly group: number }): string {
  return `${round} ${group}`;
}

function now(): number {
  return performance.now() / 1000;
}
