/**
 * The states that a peer of a Byzantine mesh knows: the newest with its proof, and the work of rounds. The twin is
 * backend/peer/mesh/byzantine/mesh_states.py.
 */

import { type Bytes, sha256, toHex } from "../../../core/crypto/bytes";
import { BrowserStore } from "../../../core/data/storage";
import type { CheckNumbers } from "../../../protocol/mesh/byzantine/checks";
import { type TellState, toldState } from "../../../protocol/mesh/byzantine/encoded-state";
import { rulesDigest } from "../../../protocol/mesh/byzantine/first-state";
import type { AgreedState } from "../../../protocol/mesh/byzantine/state";
import type { ByzantineRules } from "../../../protocol/wire/mesh";
import { ROUNDS_KEPT } from "./contents";

/**
 * The work of one round from the state `base`: by client, the SHA-256 of its pieces. Part k belonged to `workers[k]`;
 * `means` are the SHA-256 of all means, `checks` what each worker said of them, and `coin` what was tossed after them.
 */
export interface RoundWork {
  readonly base: AgreedState;
  readonly pieces: ReadonlyMap<string, readonly string[]>;
  readonly workers: readonly string[];
  readonly means: readonly string[];
  readonly checks: ReadonlyMap<string, CheckNumbers>;
  readonly coin: string;
}

/**
 * Returns who was sent each piece of a client: the part's owner, of its own part the next worker. A newcomer keeps all
 * of them itself.
 */
export function keepersOf({ workers, pieces }: RoundWork, client: string): readonly string[] {
  const own = workers.indexOf(client);
  if (own < 0) return (pieces.get(client) ?? []).map(() => client);
  const next = workers[(own + 1) % workers.length] as string;
  return workers.map((worker, part) => (part === own ? next : worker));
}

/** The frame that tells the newest state, and the contents that it names. */
interface StoredState {
  readonly proof: TellState;
  readonly weights: Bytes;
  readonly slots: Bytes;
}

/** The answer of a peer that knows no newer state. */
export const NO_STATE: TellState = {
  type: "tell_state",
  state: new Uint8Array(),
  attempt: [0, 0],
  turn: 0,
  active: [],
  verdicts: [],
};

/** What one peer knows of the states of a task's mesh, whose members share `rules`. */
export class MeshStates {
  /** The digest of the rules. */
  readonly digest: string;
  newest: AgreedState | null = null;
  proof: TellState | null = null;
  slots: Bytes = new Uint8Array();
  readonly #works = new Map<number, RoundWork>();
  readonly #store = new BrowserStore<StoredState>("minga-byzantine", "states");

  /** The newest state is stored by the task's full `address`. */
  constructor(
    readonly rules: ByzantineRules,
    private readonly address: string,
  ) {
    this.digest = rulesDigest(rules);
  }

  /** Takes the state after a round, the momentum that it names, and the work of that round where it is known. */
  take(state: AgreedState, proof: TellState, slots: Bytes, work: RoundWork | null = null): void {
    this.newest = state;
    this.proof = proof;
    this.slots = slots;
    if (work !== null) this.#works.set(state.round, work);
    for (const round of this.#works.keys()) if (round <= state.round - ROUNDS_KEPT) this.#works.delete(round);
  }

  /** Returns the work of a round; null where this peer did not see it. */
  workOf(round: number): RoundWork | null {
    return this.#works.get(round) ?? null;
  }

  /** Stores the newest state with its weights. A failure, such as a full disk, is ignored. */
  async write(weights: Bytes): Promise<void> {
    const { proof, slots } = this;
    if (proof !== null) await this.#store.put(this.address, { proof, weights, slots }).catch(() => undefined);
  }

  /** Takes the stored state if it has these rules and is intact; returns its weights, else null. */
  async read(): Promise<Bytes | null> {
    const stored = await this.#store.get(this.address).catch(() => undefined);
    const state = stored && toldState(stored.proof);
    if (!stored || !state || state.rules !== this.digest) return null;
    const [weights, slots] = [toHex(await sha256(stored.weights)), toHex(await sha256(stored.slots))];
    if (weights !== state.weights || slots !== state.slots) return null;
    this.take(state, stored.proof, stored.slots);
    return stored.weights;
  }
}
