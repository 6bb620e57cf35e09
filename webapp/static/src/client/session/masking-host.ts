/**
 * The host of a masked round's member: performs the effects of the machine in protocol/secagg/member.ts. Owns the
 * machine's state and the worker that has the round's secrets.
 */

import type { MaskingTerms } from "../../core/crypto/context";
import { Residual } from "../../core/numerics/masking/sparse";
import { messageOf, type UserMessage } from "../../core/user-messages";
import { handle, INITIAL, members, type Stage, type State } from "../../protocol/secagg/member";
import type { Effect, Event, Train } from "../../protocol/secagg/member-events";
import type { ClientFrame, ServerFrame } from "../../protocol/wire/messages";
import { type MaskingQuestion, MaskingWorker } from "../workers/masking-worker";
import { SpentVersions } from "./spent-versions";
import { TrustStore } from "./trust-store";

/** What the page shows of a masked round. */
export interface MaskedView {
  readonly stage: Stage;
  /** The number of clients among which the update is masked; 0 before that is known. */
  readonly members: number;
  /** Whether the clients verify each other, because the server may be malicious. */
  readonly active: boolean;
  /** How many of the other clients were met in earlier rounds; null if identities are not compared. */
  readonly met: number | null;
  /** Why this client contributes nothing to the round. */
  readonly reason: UserMessage | null;
}

/** The terms of a round that are not in its plan. */
export interface RoundTerms {
  readonly client: string;
  readonly task: string;
  readonly bundle: string;
  /** The address of the task's socket, and the task's run, under which spent versions are stored. */
  readonly address: string;
  readonly run: string;
  readonly parameters: number;
  readonly rows: number;
  /** The least number of clients among which the volunteer wants to be masked. */
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
  /** This client contributes nothing to the round: training for it is useless. */
  readonly gaveUp: () => void;
  readonly identities?: TrustStore;
  readonly spentVersions?: SpentVersions;
  readonly spawn?: () => MaskingWorker;
}

/** The current masked round. */
interface MaskedRound {
  readonly plan: Train;
  readonly roundTerms: RoundTerms;
  readonly worker: MaskingWorker;
  /** Resolves when the update may be masked (true) or never will be (false). */
  readonly allowed: Promise<boolean>;
  readonly allow: (may: boolean) => void;
  /** The residual that the masked update left unsent, once it is computed. */
  left: Float32Array | null;
}

export class Masker {
  readonly #options: MaskerOptions;
  readonly #identities: TrustStore;
  readonly #spentVersions: SpentVersions;
  #machine: State = INITIAL;
  #round: MaskedRound | null = null;
  /** The unsent residual of this client's updates to this model. */
  #residual = new Residual();
  #residualOf = "";
  #met: number | null = null;

  constructor(options: MaskerOptions) {
    this.#options = options;
    this.#identities = options.identities ?? new TrustStore();
    this.#spentVersions = options.spentVersions ?? new SpentVersions();
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

  /** Takes a plan with masking, which the server may repeat. */
  plan(plan: Train, roundTerms: RoundTerms): void {
    const { round } = plan;
    if (this.#round?.plan.round !== round) this.#begin(plan, roundTerms);
    const { client, bundle, minimum } = roundTerms;
    this.#dispatch({ type: "planned", client, bundle, minimum, plan });
  }

  takeFrame(frame: ServerFrame): void {
    if (frame.type === "accepted") this.#accepted(frame.round);
    this.#dispatch({ type: "frame", frame });
  }

  /** Resends frames after the participant has reported that it is ready on a new connection. */
  welcomed(): void {
    this.#dispatch({ type: "welcomed" });
  }

  /** Returns the masked update of `round` once it may be sent; null if it must not be. */
  async mask(
    round: number,
    { update, examples, loss, sums }: UnmaskedUpdate,
  ): Promise<Uint8Array<ArrayBuffer> | null> {
    const current = this.#round;
    if (current?.plan.round !== round || !(await current.allowed)) return null;
    try {
      const unmasked = unmaskedUnder(current.plan, { examples, loss, sums }, current.roundTerms.rows);
      const { plan, roundTerms } = current;
      const owed = this.#residual.own(plan.version, roundTerms.parameters);
      const { bytes, left } = await current.worker.ask({ type: "mask", update, owed, ...unmasked }, [update]);
      current.left = left;
      return bytes;
    } catch (error) {
      if (this.#round === current) this.#fail(current, error);
      return null;
    }
  }

  /**
   * Ends all masked rounds, since the volunteer stopped. A client that joins again makes new keys for its next round.
   */
  stop(): void {
    this.#dispatch({ type: "stopped" });
    this.#end();
    this.#machine = INITIAL;
  }

  /** Keeps the residual of an accepted update; the next update includes it. */
  #accepted(round: number): void {
    const current = this.#round;
    if (current?.plan.round === round && current.left !== null)
      this.#residual.keep(current.plan.version, current.left);
  }

  #begin(plan: Train, roundTerms: RoundTerms): void {
    this.#end();
    const { task, bundle, client } = roundTerms;
    if (this.#residualOf !== `${task} ${bundle} ${client}`) this.#residual = new Residual();
    this.#residualOf = `${task} ${bundle} ${client}`;
    const { promise, resolve } = deferred<boolean>();
    const worker = (this.#options.spawn ?? (() => new MaskingWorker()))();
    this.#round = { plan, roundTerms, worker, allowed: promise, allow: resolve, left: null };
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
    const current = this.#round;
    switch (effect.type) {
      case "send":
        this.#options.send(effect.frame);
        return;
      case "give_up":
        if (current?.plan.round === effect.round) current.allow(false);
        this.#options.gaveUp();
        return;
      case "forget":
        if (current?.plan.round === effect.round) this.#end();
        return;
      case "mask":
        if (current) void this.#expand(current, effect);
        return;
      default:
        if (current) void this.#work(current, effect);
    }
  }

  /** Performs an effect in the worker and reports the outcome, unless the round is over by then. */
  async #work(current: MaskedRound, effect: MaskingEffect): Promise<void> {
    let event: Event;
    try {
      event = await this.#done(current, effect);
    } catch (error) {
      event = { type: "failed", round: current.plan.round, reason: messageOf(error) };
    }
    if (this.#round === current) this.#dispatch(event);
  }

  async #done({ plan, roundTerms, worker }: MaskedRound, effect: MaskingEffect): Promise<Event> {
    const { round } = plan;
    switch (effect.type) {
      case "make_keys": {
        const spent = await this.#spentVersions.firstUnspent(roundTerms.address, roundTerms.run);
        const identity = await this.#identities.own();
        const terms = termsOf(plan, roundTerms);
        const made = await worker.ask({ type: "make_keys", client: effect.client, identity, terms });
        return { ...made, spent };
      }
      case "check_roster":
        return this.#checkRoster(worker, roundTerms.client, effect);
      case "seal":
        return { ...(await worker.ask(effect)), round };
      case "open":
        return { ...(await worker.ask(effect)), round };
      case "sign_survivors":
        return { ...(await worker.ask(effect)), round };
      case "check_vouchers":
        return { ...(await worker.ask(effect)), round };
      case "make_reveal": {
        const { type, version, seeds, mask_keys } = effect;
        // Stored before any share leaves: a browser that ends in between must not reveal for this version again.
        await this.#spentVersions.spend(roundTerms.address, roundTerms.run, version);
        return { ...(await worker.ask({ type, seeds, mask_keys })), round };
      }
    }
  }

  /** Checks the roster. Verified clients are stored as known; without verification identities are not compared. */
  async #checkRoster(worker: MaskingWorker, client: string, effect: RosterCheck): Promise<Event> {
    const { type, round, members, degree, threshold, verify } = effect;
    const checked = await worker.ask({ type, members, degree, threshold, verify });
    if (!verify) return { ...checked, round, changed: [] };
    const { changed, met } = await this.#identities.compare(members, client);
    this.#met = met.length;
    if (checked.wrong.length + changed.length === 0) await this.#identities.remember(members);
    return { ...checked, round, changed };
  }

  /** Computes the masks while the training continues, so that they are ready when it ends. */
  async #expand(current: MaskedRound, { place, pairs }: Extract<Effect, { type: "mask" }>): Promise<void> {
    try {
      await current.worker.ask({ type: "expand", place, pairs });
      current.allow(true);
    } catch (error) {
      current.allow(false);
      if (this.#round === current) this.#fail(current, error);
    }
  }

  /** Reports that there will be no masked update. */
  #fail({ plan }: MaskedRound, error: unknown): void {
    this.#dispatch({ type: "failed", round: plan.round, reason: messageOf(error) });
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
 * Returns what is masked together with the update: nothing under noise on whole updates, and nothing that reveals
 * examples under noise on their gradients.
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

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
