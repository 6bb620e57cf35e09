/**
 * Asks other members for newer states, adopts those that can be believed, and tells them this peer's own. The twin is
 * backend/peer/mesh/byzantine/state_transfer.py.
 */

import { type Bytes, toHex } from "../../../core/crypto/bytes";
import { adopted } from "../../../protocol/mesh/byzantine/adoption";
import type { TellState } from "../../../protocol/mesh/byzantine/encoded-state";
import { NO_SLOTS } from "../../../protocol/mesh/byzantine/first-state";
import type { AgreedState } from "../../../protocol/mesh/byzantine/state";
import type { PeerFrame } from "../../../protocol/wire/mesh";
import type { WeightCache } from "../weight-store";
import type { WeightTransfer } from "../weight-transfer";
import type { RoundContents } from "./contents";
import { type MeshStates, NO_STATE } from "./mesh-states";

/** Seconds to wait for the answers of linked peers: of a page that knows no state, and of one that knows one. */
const FIRST_ANSWER_SECONDS = 5;
const ANSWER_SECONDS = 1;

/** The part of the links that a Byzantine mesh needs (client/transports/links.ts `LinkManager`). */
export interface StateLinks {
  readonly linked: readonly string[];
  send(client: string, frame: PeerFrame): boolean;
  identityOf(client: string): Uint8Array | null;
}

/** The loaded model's numbers of values. */
export interface ModelSize {
  readonly parameters: number;
  readonly trainable: number;
  /** Those of an example: all its inputs and labels. */
  readonly exampleValues: number;
}

export interface StateTransferOptions {
  readonly task: string;
  /** This peer's public id. */
  readonly own: string;
  readonly links: StateLinks;
  readonly states: MeshStates;
  readonly weights: WeightCache;
  readonly contents: RoundContents;
  readonly fetching: WeightTransfer;
  readonly model: () => ModelSize;
}

/** What others told about their states. A state is adopted once its weights and momentum are here. */
export class StateTransfer {
  readonly #options: StateTransferOptions;
  readonly #told = new Map<string, TellState>();
  readonly #answered = new Set<string>();
  /** Those who wait for the next answer. */
  #waiting: (() => void)[] = [];
  #wanted: string | null = null;

  constructor(options: StateTransferOptions) {
    this.#options = options;
  }

  /** Answers with the newest state, or that there is none. */
  asked(client: string, after: number): void {
    const { newest, proof } = this.#options.states;
    const isNewer = newest !== null && newest.round > after;
    this.#options.links.send(client, isNewer && proof !== null ? proof : NO_STATE);
  }

  /** Takes what a peer tells; it is considered by who waits. */
  told(client: string, frame: TellState): void {
    this.#answered.add(client);
    if (frame.state.length > 0) this.#told.set(client, frame);
    this.wake();
  }

  /** Has those who wait look again whether they still have to. */
  wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  /** Tells these clients the newest state. */
  tell(clients: readonly string[]): void {
    const { proof } = this.#options.states;
    if (proof !== null) for (const client of clients) this.#options.links.send(client, proof);
  }

  /** Takes that members agreed on the state of this digest, which this peer does not know. */
  want(state: string): void {
    this.#wanted = state;
  }

  /** Asks all linked peers once, and adopts what can be believed; returns whether the state is newer. */
  async catchUp(): Promise<boolean> {
    const { links, states } = this.#options;
    const others = links.linked;
    this.#answered.clear();
    for (const client of others) links.send(client, { type: "ask_state", after: states.newest?.round ?? 0 });
    const until = now() + (states.newest === null ? FIRST_ANSWER_SECONDS : ANSWER_SECONDS);
    while (!others.every((client) => this.#answered.has(client)) && now() < until) await this.#wait(until);
    return this.#adopt();
  }

  /** Waits for the state after a round until a time (seconds), or until it is lost; returns whether it came. */
  async follow(round: number, until: number, isLost: () => boolean): Promise<boolean> {
    for (;;) {
      const heard = this.#wait(until);
      await this.#adopt();
      const { newest } = this.#options.states;
      if (newest !== null && newest.round >= round) return true;
      if (now() >= until || isLost()) return false;
      await heard;
    }
  }

  /** Keeps the contents of a state for this peer, and for others that ask. */
  async keep(state: AgreedState, weights: Bytes, slots: Bytes): Promise<void> {
    this.#options.contents.add(state.round, state.slots, slots);
    await this.#options.weights.keep(weights);
  }

  /** Resolves with the next answer, or at a time. */
  #wait(until: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, 1000 * (until - now())));
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Adopts the newest state that can be believed, if its contents are to be had. */
  async #adopt(): Promise<boolean> {
    const { task, own, states, links, model } = this.#options;
    const keys = new Map<string, string>();
    for (const client of this.#told.keys()) {
      const key = links.identityOf(client);
      if (key !== null) keys.set(client, toHex(key));
    }
    const { rules, digest, newest } = states;
    const known = { task, run: rules.run, rules: digest, own: newest, wanted: this.#wanted, client: own };
    const found = await adopted(known, new Map(this.#told), keys);
    if (found === null) return false;
    const { state, frame } = found;
    const encoded = toHex(frame.state);
    const holders = [...this.#told].filter(([, told]) => toHex(told.state) === encoded).map(([one]) => one);
    const { parameters, trainable } = model();
    const weights = await this.#content(state.weights, 4 * parameters, holders);
    const slots =
      state.slots === NO_SLOTS ? new Uint8Array() : await this.#content(state.slots, 4 * trainable, holders);
    if (weights === null || slots === null) return false;
    await this.keep(state, weights, slots);
    states.take(state, frame, slots);
    void states.write(weights);
    this.#wanted = null;
    for (const client of holders) this.#told.delete(client);
    return true;
  }

  async #content(digest: string, size: number, holders: readonly string[]): Promise<Bytes | null> {
    const { weights, contents, fetching } = this.#options;
    const kept = weights.find(digest) ?? contents.find(digest);
    return kept ?? fetching.fetch(digest, size, [...holders].sort());
  }
}

function now(): number {
  return performance.now() / 1000;
}
