/** The host of rounds without the server: performs the effects of their machine over links. Owns that machine. */

import type { Evaluation } from "../../protocol/client/evaluation";
import type { MemberState } from "../../protocol/mesh/member";
import type { MemberEvent } from "../../protocol/mesh/member-events";
import { isBusy } from "../../protocol/mesh/member-work";
import { ServerlessRounds } from "../../protocol/mesh/serverless/rounds";
import type { Effect, Event } from "../../protocol/mesh/serverless/serverless-events";
import type { GroupOrder, ServerlessFrame } from "../../protocol/wire/mesh";
import type { LinkManager } from "../transports/links";

/** An evaluation by a peer while the server was away; no other party has verified it. */
export interface LocalMeasurement {
  readonly client: string;
  readonly evaluation: Evaluation;
}

/** The state of rounds without the server. */
export interface ServerlessView {
  /** The peers of serverless rounds; null while this peer has the server, or no certified weights. */
  readonly peers: readonly string[] | null;
  /** The last evaluation by a peer. */
  readonly finding: LocalMeasurement | null;
}

export interface ServerlessRunnerOptions {
  /** This peer's public id. */
  readonly own: string;
  readonly links: Pick<LinkManager, "send">;
  /** Takes events for the member's machine. */
  readonly tell: (event: MemberEvent) => void;
  /** Tries to reach the server, because another peer has it. */
  readonly hasten: () => void;
}

export class ServerlessRunner {
  readonly #options: ServerlessRunnerOptions;
  readonly #machine: ServerlessRounds;
  #finding: LocalMeasurement | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(options: ServerlessRunnerOptions) {
    this.#options = options;
    this.#machine = new ServerlessRounds(options.own);
  }

  get view(): ServerlessView {
    return { peers: this.#machine.peers, finding: this.#finding };
  }

  /**
   * Takes an event that the member's machine has handled; `member` is its state now, `group` the group it was in
   * before.
   */
  memberHandled(event: MemberEvent, member: MemberState, group: GroupOrder | null): void {
    const translated = serverlessEvent(event, member, group);
    if (translated !== null) this.handle(translated);
  }

  /** Takes a frame of another peer about such rounds. */
  receive(client: string, frame: ServerlessFrame): void {
    if (frame.type === "evaluation" && this.#machine.survivors.has(client))
      this.#recordMeasurement(client, frame);
    this.handle({ type: "heard", client, frame });
  }

  /** Gives `event` to the machine, and performs the effects. */
  handle(event: Event): void {
    if (this.#closed) return;
    for (const effect of this.#machine.happened(event, now())) this.#perform(effect);
    clearTimeout(this.#timer);
    const due = this.#machine.timer();
    if (due === null || this.#closed) return;
    this.#timer = setTimeout(() => this.handle({ type: "time_passed" }), Math.max(0, 1000 * (due - now())));
  }

  /** Stops the timer and ignores further events. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case "say":
        for (const client of effect.clients) this.#options.links.send(client, effect.frame);
        if (effect.frame.type === "evaluation") this.#recordMeasurement(this.#options.own, effect.frame);
        return;
      case "agree":
        this.#options.tell({ type: "agreed", frame: effect.frame });
        return;
      case "hasten":
        this.#options.hasten();
    }
  }

  /** Stores a valid evaluation. */
  #recordMeasurement(client: string, evaluation: Evaluation): void {
    if (evaluation.examples > 0 && Number.isFinite(evaluation.loss)) this.#finding = { client, evaluation };
  }
}

/** Translates an event of the member's machine into one for rounds without the server; null if there is none. */
function serverlessEvent(event: MemberEvent, member: MemberState, group: GroupOrder | null): Event | null {
  switch (event.type) {
    case "frame":
      if (event.frame.type === "entered" && member.connection.state === "open")
        return { type: "reached", run: event.frame.run };
      return { type: "told", frame: event.frame };
    case "disconnected":
      return { type: "deserted", busy: isBusy(member.inHand) };
    case "trained":
      return member.inHand.trained && { type: "trained", report: member.inHand.trained };
    case "averaged":
      return group && { type: "averaged", order: group, weights: event.weights };
    case "failed":
      return { type: "failed" };
    case "certified":
      return { type: "certified", certificate: event.certificate };
    case "measured":
      return member.evaluation.result && { type: "measured", report: member.evaluation.result };
    case "start":
    case "connected":
    case "agreed":
    case "loaded":
    case "stop":
      return null;
  }
}

/** Returns the seconds of a steady clock. */
function now(): number {
  return performance.now() / 1000;
}
