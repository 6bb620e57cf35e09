/**
 * This browser's part in masked rounds: performs the effects that the machine in protocol/secagg/member.ts decides.
 * Owns the machine's state and the worker that has the round's secrets.
 */

import type { MaskingTerms } from "../../core/crypto/context";
import { Residual } from "../../core/numerics/masking/sparse";
import { handle, INITIAL, members, type Stage, type State } from "../../protocol/secagg/member";
import type { Effect, Event, Train } from "../../protocol/secagg/member-events";
import type { ClientFrame, ServerFrame } from "../../protocol/wire/messages";
import { type MaskingQuestion, MaskingWorker } from "../workers/masking-worker";
import { TrustStore } from "./trust-store";

/** What the page shows of a masked round. */
export interface MaskedView {
  readonly stage: Stage;
  /** Among how many the update is masked; 0 before that is known. */
  readonly members: number;
  /** Whether the clients look after each other, because the server may lie. */
  readonly active: boolean;
  /** How many of the others were met in earlier rounds; null where nobody looks. */
  readonly met: number | null;
  /** Why nothing of this client goes into the round. */
  readonly reason: string | null;
}

/** What a round's terms say besides its plan. */
export interface RoundTerms {
  readonly client: string;
  readonly task: string;
  readonly bundle: string;
  readonly parameters: number;
  readonly rows: number;
  /** Among how many the volunteer wants to be masked at least. */
  readonly minimum: number;
}

/** What a client trained for a masked round; `sums` as in an offer. */
export interface UnmaskedUpdate {
  readonly update: ArrayBuffer;
  readonly examples: number;
  readonly loss: number;
  readonly sums: readonly (readonly [number, number])[];
}

export interface MaskerOptions {
  readonly send: (frame: ClientFrame) => void;
  readonly changed: () => void;
  /** Nothing of this client goes into the round: training for it is of no use. */
  readonly gaveUp: () => void;
  readonly identities?: TrustStore;
  readonly spawn?: () => MaskingWorker;
}

/** The round in hand. */
interface MaskedRound {
  readonly plan: Train;
  readonly circumstances: RoundTerms;
  readonly worker: MaskingWorker;
  /** Resolves when the update may be masked (true) or never will be (false). */
  readonly allowed: Promise<boolean>;
  readonly allow: (may: boolean) => void;
  /** What the masked update left unsent, once it is made. */
  left: Float32Array | null;
}

export class Masker {
  readonly #options: MaskerOptions;
  readonly #identities: TrustStore;
  #machine: State = INITIAL;
  #round: MaskedRound | null = null;
  /** Of what this client trained for this model. */
  #residual = new Residual();
  #residualOf = "";
  #met: number | null = null;

  constructor(options: MaskerOptions) {
    this.#options = options;
    this.#identities = options.identities ?? new TrustStore();
  }

  /** Null outside of masked rounds. */
  get view(): MaskedView | null {
    const { round, stage, reason } = this.#machine;
    if (round === null) return null;
    const active = round.masking.server === "active";
    return {
      stage,
      members: members(this.#machine),
      active,
      met: this.#met,
      reason,
    };
  }

  /** A plan with masking came, perhaps once more. */
  plan(plan: Train, circumstances: RoundTerms): void {
    const { round } = plan;
    if (this.#round?.plan.round !== round) this.#begin(plan, circumstances);
    const { client, bundle, minimum } = circumstances;
    this.#dispatch({ type: "planned", client, bundle, minimum, plan });
  }

  hear(frame: ServerFrame): void {
    if (frame.type === "accepted") this.#accepted(frame.round);
    this.#dispatch({ type: "frame", frame });
  }

  /** The connection is open again, and the participant said that it is ready. */
  welcomed(): void {
    this.#dispatch({ type: "welcomed" });
  }

  /** The masked update of `round` as it is sent, when it may be; null where it is not to be sent. */
  async mask(
    round: number,
    { update, examples, loss, sums }: UnmaskedUpdate,
  ): Promise<Uint8Array<ArrayBuffer> | null> {
    const mine = this.#round;
    if (mine?.plan.round !== round || !(await mine.allowed)) return null;
    try {
      const unmasked = unmaskedUnder(mine.plan, { examples, loss, sums }, mine.circumstances.rows);
      const { plan, circumstances } = mine;
      const owed = this.#residual.own(plan.version, circumstances.parameters);
      const { bytes, left } = await mine.worker.ask({ type: "mask", update, owed, ...unmasked }, [update]);
      mine.left = left;
      return bytes;
    } catch (error) {
      if (this.#round === mine) this.#fail(mine, error);
      return null;
    }
  }

  /** The volunteer stopped: who joins again comes with new keys, to whatever round there is. */
  stop(): void {
    this.#dispatch({ type: "stopped" });
    this.#end();
    this.#machine = INITIAL;
  }

  /** The update of `round` counts: what it left is owed from now on. */
  #accepted(round: number): void {
    const mine = this.#round;
    if (mine?.plan.round === round && mine.left !== null) this.#residual.keep(mine.plan.version, mine.left);
  }

  #begin(plan: Train, circumstances: RoundTerms): void {
    this.#end();
    const { task, bundle, client } = circumstances;
    if (this.#residualOf !== `${task} ${bundle} ${client}`) this.#residual = new Residual();
    this.#residualOf = `${task} ${bundle} ${client}`;
    const { promise, resolve } = deferred<boolean>();
    const worker = (this.#options.spawn ?? (() => new MaskingWorker()))();
    this.#round = { plan, circumstances, worker, allowed: promise, allow: resolve, left: null };
  }

  /** Ends the worker, and with it all secrets of its round. */
  #end(): void {
    this.#round?.allow(false);
    this.#round?.worker.terminate();
    this.#round = null;
    this.#met = null;
  }

  #dispatch(event: Event): void {
    const { state, effects } = handle(this.#machine, event);
    this.#machine = state;
    for (const effect of effects) this.#perform(effect);
    if (effects.length > 0) this.#options.changed();
  }

  #perform(effect: Effect): void {
    const mine = this.#round;
    switch (effect.type) {
      case "send":
        this.#options.send(effect.frame);
        return;
      case "give_up":
        if (mine?.plan.round === effect.round) mine.allow(false);
        this.#options.gaveUp();
        return;
      case "forget":
        if (mine?.plan.round === effect.round) this.#end();
        return;
      case "mask":
        if (mine) void this.#expand(mine, effect);
        return;
      default:
        if (mine) void this.#work(mine, effect);
    }
  }

  /** Does what the machine asked for and tells it what came of it, unless the round is over by then. */
  async #work(mine: MaskedRound, effect: MaskingEffect): Promise<void> {
    let event: Event;
    try {
      event = await this.#done(mine, effect);
    } catch (error) {
      event = { type: "failed", round: mine.plan.round, reason: sentence(error) };
    }
    if (this.#round === mine) this.#dispatch(event);
  }

  async #done({ plan, circumstances, worker }: MaskedRound, effect: MaskingEffect): Promise<Event> {
    const { round } = plan;
    switch (effect.type) {
      case "make_keys": {
        const identity = await this.#identities.own();
        const terms = termsOf(plan, circumstances);
        return worker.ask({ type: "make_keys", client: effect.client, identity, terms });
      }
      case "check_roster":
        return this.#checkRoster(worker, circumstances.client, effect);
      case "seal":
        return { ...(await worker.ask(effect)), round };
      case "open":
        return { ...(await worker.ask(effect)), round };
      case "sign_survivors":
        return { ...(await worker.ask(effect)), round };
      case "check_vouchers":
        return { ...(await worker.ask(effect)), round };
      case "make_reveal":
        return { ...(await worker.ask(effect)), round };
    }
  }

  /** Who is verified is known from then on; where nobody is, nobody is told apart. */
  async #checkRoster(worker: MaskingWorker, client: string, effect: RosterCheck): Promise<Event> {
    const { type, round, members, degree, threshold, verify } = effect;
    const checked = await worker.ask({ type, members, degree, threshold, verify });
    if (!verify) return { ...checked, round, changed: [] };
    const { changed, met } = await this.#identities.compare(members, client);
    this.#met = met.length;
    if (checked.wrong.length + changed.length === 0) await this.#identities.meet(members);
    return { ...checked, round, changed };
  }

  /** Makes the masks while the training goes on: it gets them when they are needed. */
  async #expand(mine: MaskedRound, { place, pairs }: Extract<Effect, { type: "mask" }>): Promise<void> {
    try {
      await mine.worker.ask({ type: "expand", place, pairs });
      mine.allow(true);
    } catch (error) {
      mine.allow(false);
      if (this.#round === mine) this.#fail(mine, error);
    }
  }

  /** There will be no masked update. */
  #fail({ plan }: MaskedRound, error: unknown): void {
    this.#dispatch({ type: "failed", round: plan.round, reason: sentence(error) });
  }
}

type MaskingEffect = Exclude<Effect, { type: "send" | "mask" | "give_up" | "forget" }>;
type RosterCheck = Extract<Effect, { type: "check_roster" }>;

function termsOf(plan: Train, { task, bundle, parameters, rows }: RoundTerms): MaskingTerms {
  const { round, version, weights, masking } = plan;
  if (masking === null) throw new Error("The round is not masked.");
  return { task, bundle, round, version, weights, parameters, rows, masking };
}

/**
 * What is told besides the update: nothing under noise on whole updates, and where that is on the gradients of examples
 * nothing that shows them.
 */
function unmaskedUnder(
  { masking, privacy }: Train,
  { examples, loss, sums }: Omit<UnmaskedUpdate, "update">,
  rows: number,
): Omit<MaskingQuestion<"mask">, "type" | "update" | "owed"> {
  const alone = (masking?.noise ?? 0) > 0 || (privacy?.clip ?? 0) > 0;
  if (privacy === null) return { examples, loss, sums: sums.flat(), alone };
  return { examples, loss: 0, sums: new Array<number>(2 * rows).fill(0), alone };
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
