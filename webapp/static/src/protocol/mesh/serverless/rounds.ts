/**
 * The machine of a mesh's rounds without its server, without I/O. The twin is backend/protocols/mesh/serverless/rounds.py.
 *
 *     attended ── server lost ──> calling ── set_out ──> (measuring ──>) training ── group ──> averaging
 *        ^                          ^                                       │                     │
 *        └── server reached ── any  └── time over, or the leader is lost ───┴── result or none ───┘
 *
 * A browser calls, follows and evaluates, but does not lead: pages may sleep at any time. last-round.ts derives the next
 * round from the last one. docs/decisions/0033-without-a-server.md proves it right. The machine runs beside
 * protocol/mesh/member.ts, which performs what the peers agreed on here. Its host (client/mesh/serverless-runner.ts)
 * reports events with `now` (seconds of any steady clock), performs the returned effects, and reports `time_passed` at
 * `timer()`. An event in the wrong stage changes nothing.
 */

import type { Evaluation } from "../../client/evaluation";
import type { Certificate, GroupOrder, ServerlessFrame } from "../../wire/mesh";
import type { PlanTrained } from "../member-events";
import { KnownSurvivors, LastRound, orderError } from "./last-round";
import { type Effect, type Event, type ServerlessStage, TRANSITIONS } from "./serverless-events";

type FrameOf<Tag extends ServerlessFrame["type"]> = Extract<ServerlessFrame, { readonly type: Tag }>;
type Effects = readonly Effect[];

/** One peer's part in rounds without the server; `own` is its id. Owned by its host alone. */
export class ServerlessRounds {
  #stage: ServerlessStage = "attended";
  readonly survivors: KnownSurvivors;
  #last = new LastRound();
  /** The run of the task; null before the server was reached. */
  #run: string | null = null;
  /** Hashes of this peer's weights, and of the last weights that any peer evaluated. */
  #weights: string | null = null;
  #measured: string | null = null;
  #idle = true;
  #leader: string | null = null;
  /** The time at which the peer calls again or stops waiting. */
  #due: number | null = null;
  #calledAt: number | null = null;
  #reconnectedAt: number | null = null;

  constructor(private readonly own: string) {
    this.survivors = new KnownSurvivors(own);
  }

  get stage(): ServerlessStage {
    return this.#stage;
  }

  /** Returns when `time_passed` is due next; null while only another event can change anything. */
  timer(): number | null {
    return this.#due;
  }

  /** Takes an event and returns the effects that the host performs, in order. */
  happened(event: Event, now: number): Effects {
    switch (event.type) {
      case "reached":
        return this.#serverReached(event.run);
      case "deserted":
        this.#serverLost(event.busy, now);
        break;
      case "told":
        this.#last.takeServerFrame(event.frame);
        break;
      case "linked":
        return this.#linkUp(event.client);
      case "lost":
        this.#linkDown(event.client, now);
        break;
      case "heard":
        return this.#takeFrame(event.client, event.frame, now);
      case "trained":
        return this.#takeOwnTraining(event.report);
      case "averaged":
        this.#takeResult(event.order, event.weights, now);
        break;
      case "failed":
        this.#takeFailure(now);
        break;
      case "certified":
        return this.#takeCertificate(event.certificate, now);
      case "measured":
        return this.#takeEvaluation(event.report, now);
      case "time_passed":
        return this.#timePassed(now);
    }
    return [];
  }

  /** The linked survivors with which this peer makes rounds without the server; null if it cannot. */
  get peers(): readonly string[] | null {
    const { certificate, linked } = this.survivors;
    return this.#stage === "attended" || certificate?.weights !== this.#weights ? null : linked;
  }

  // The server.

  #serverReached(run: string): Effects {
    this.#leader = null;
    this.#enter("attended");
    this.#due = null;
    const told = this.#send({ type: "attended" });
    if (this.#run !== null && run !== this.#run) {
      // What was certified in another run of the task is no beginning of rounds in this one.
      this.#last = new LastRound();
      this.#weights = null;
      this.survivors.certificate = null;
    }
    this.#run = run;
    return told;
  }

  #serverLost(busy: boolean, now: number): void {
    if (this.#stage !== "attended") return;
    this.#enter("calling");
    this.#idle = !busy;
    this.#calledAt = null;
    this.#wait(now);
  }

  // The other peers.

  /** Waits for `patience` seconds before it calls; a peer that never averaged has no round to continue. */
  #wait(now: number): void {
    this.#due = this.#last.order ? now + this.#last.patience : null;
  }

  #send(frame: ServerlessFrame, clients = this.survivors.linked): Effects {
    return clients.length > 0 ? [{ type: "say", clients, frame }] : [];
  }

  #linkUp(client: string): Effects {
    this.survivors.addLink(client);
    if (this.#calledAt === null || this.#callBasis() === null || !this.survivors.has(client)) return [];
    return this.#send(this.#call(), [client]);
  }

  #linkDown(client: string, now: number): void {
    this.survivors.removeLink(client);
    if (client === this.#leader) this.#callAgain(now);
  }

  #takeFrame(client: string, frame: ServerlessFrame, now: number): Effects {
    if (!this.survivors.hasOther(client)) return [];
    switch (frame.type) {
      case "unattended":
        return this.#stage === "attended" ? this.#send({ type: "attended" }, [client]) : [];
      case "attended":
        return this.#endRound(now);
      case "set_out":
        return this.#follow(client, frame, now);
      case "group":
        return this.#takeOrder(client, frame);
      case "evaluation":
        if (frame.round === this.survivors.round) this.#measured = this.#weights;
        return [];
      case "trained":
        // Only leaders need this frame.
        return [];
    }
  }

  /** Ends the round, since another peer has the server: no round begins before this peer has tried to reach it. */
  #endRound(now: number): Effects {
    if (this.#stage === "attended" || this.#stage === "averaging") return [];
    this.#callAgain(now);
    if (this.#reconnectedAt !== null && now < this.#reconnectedAt + this.#last.patience) return [];
    this.#reconnectedAt = now;
    return [{ type: "hasten" }];
  }

  // Calls, and the beginning of a round.

  /** Returns the certificate of the weights that the next round begins with; null if this peer cannot call. */
  #callBasis(): Certificate | null {
    const ready = this.#stage === "calling" && this.#idle && this.#last.plan && this.#last.order;
    const certificate = this.survivors.certificate;
    if (!ready || certificate?.weights !== this.#weights || !this.survivors.has(this.own)) return null;
    return certificate;
  }

  #call(): FrameOf<"unattended"> {
    const measures = this.#last.evaluation !== null && this.#measured !== this.#weights;
    const [round, weights] = [this.#last.number, this.#weights ?? ""];
    return { type: "unattended", round, weights, steward: false, measures };
  }

  #callOut(now: number): Effects {
    this.#wait(now);
    if (this.#callBasis() === null) return [];
    this.#calledAt ??= now;
    return this.#send(this.#call());
  }

  #follow(client: string, frame: FrameOf<"set_out">, now: number): Effects {
    const hasCalled = this.#callBasis() !== null && this.#calledAt !== null;
    if (!hasCalled || frame.weights !== this.#weights || !this.#last.canBegin(frame.round)) return [];
    return this.#beginRound(client, frame, now);
  }

  #beginRound(leader: string, { round, weights, measures }: FrameOf<"set_out">, now: number): Effects {
    this.#leader = leader;
    this.#last.begin(round, weights);
    const evaluation = measures === this.own ? this.#last.beginEvaluation() : null;
    if (evaluation === null) return this.#train(now);
    this.#enter("measuring");
    this.#due = now + evaluation.seconds;
    return [{ type: "agree", frame: evaluation }];
  }

  #train(now: number): Effects {
    this.#enter("training");
    this.#idle = false;
    const { plan, seconds, patience } = this.#last;
    this.#due = now + seconds + 2 * patience;
    return plan ? [{ type: "agree", frame: plan }] : [];
  }

  #takeEvaluation(report: Evaluation, now: number): Effects {
    if (this.#stage !== "measuring") return [];
    this.#measured = this.#weights;
    return [...this.#send({ ...report, round: this.survivors.round }), ...this.#train(now)];
  }

  // The steps from training to averaging.

  #takeOwnTraining(report: PlanTrained): Effects {
    this.#idle = true;
    if (this.#stage !== "training" || report.round !== this.#last.number || this.#leader === null) return [];
    this.#enter("trained");
    return this.#send(report, [this.#leader]);
  }

  #takeOrder(client: string, order: GroupOrder): Effects {
    const [certificate, last] = [this.survivors.certificate, this.#last.order];
    if (this.#stage !== "trained" || client !== this.#leader || certificate === null || last === null)
      return [];
    if (order.round !== this.#last.number || orderError(order, last, certificate, this.own) !== null)
      return [];
    this.#leader = null;
    this.#enter("averaging");
    this.#idle = false;
    this.#due = null;
    return [{ type: "agree", frame: order }];
  }

  #takeResult(order: GroupOrder, weights: string, now: number): void {
    this.#last.takeGroup(order);
    this.#weights = weights;
    this.#idle = true;
    if (this.#stage === "averaging") {
      // It does not wait for `patience`, but calls as soon as the new weights are certified.
      this.#enter("calling");
      this.#calledAt = null;
      this.#due = null;
    } else if (this.#stage === "calling") this.#wait(now);
  }

  #takeFailure(now: number): void {
    this.#idle = true;
    if (this.#stage === "averaging") this.#callAgain(now);
  }

  #takeCertificate(certificate: Certificate, now: number): Effects {
    if (this.#run !== null && certificate.run !== this.#run) return [];
    if (this.#weights !== null && certificate.weights !== this.#weights) return [];
    this.survivors.certificate = certificate;
    this.#weights = certificate.weights;
    this.#last.takeCertain(certificate.round);
    return this.#stage === "calling" && this.#due === null ? this.#callOut(now) : [];
  }

  // Time.

  #timePassed(now: number): Effects {
    if (this.#due === null || now < this.#due) return [];
    if (this.#stage === "calling") return this.#callOut(now);
    if (this.#stage === "measuring") return this.#train(now);
    this.#callAgain(now);
    return [];
  }

  /** Ends a failed round: every peer calls again. */
  #callAgain(now: number): void {
    this.#leader = null;
    this.#enter("calling");
    this.#calledAt = null;
    this.#wait(now);
  }

  #enter(stage: ServerlessStage): void {
    if (stage !== this.#stage && !TRANSITIONS[this.#stage].has(stage)) {
      throw new Error(`A peer cannot go from ${this.#stage} to ${stage}.`);
    }
    this.#stage = stage;
  }
}
