/**
 * Rounds of a mesh without its server, as a machine without I/O; `backend/protocols/mesh/serverless/rounds.py` is its twin.
 *
 *     attended ── server lost ──> calling ── set_out ──> (measuring ──>) training ── group ──> averaging
 *        ^                          ^                                       │                     │
 *        └── server reached ── any  └── time over, or the steward is gone ──┴── result or none ───┘
 *
 * A browser calls, follows and measures, but does not lead, and what a steward does is left out: pages may sleep at any time.
 * Its parts: last-round.ts has what the next round is made of, survivors.ts whom to go on with.
 * docs/decisions/0033-without-a-server.md says why it is right. The machine stands beside protocol/mesh/member.ts,
 * which does what is agreed on here. Its host (client/mesh/serverless-runner.ts) reports events with `now` (seconds of
 * any steady clock), performs the effects that they return, and reports `time_passed` at `timer()`. What comes at the
 * wrong time changes nothing.
 */

import type { Evaluation } from "../../rounds/participant-events";
import type { Certificate, GroupOrder, ServerlessFrame } from "../../wire/mesh";
import type { PlanTrained } from "../member-events";
import type { Effect, Event } from "./events";
import { Last } from "./last-round";
import { objection } from "./plan";
import { Survivors } from "./survivors";

/** What a peer does about rounds without the server. */
export type Stage = "attended" | "calling" | "measuring" | "training" | "trained" | "averaging";

type FrameOf<Tag extends ServerlessFrame["type"]> = Extract<ServerlessFrame, { readonly type: Tag }>;
type Effects = readonly Effect[];

/** One peer's part; `own` is its id. Owned by its host alone. */
export class Onward {
  stage: Stage = "attended";
  readonly survivors: Survivors;
  readonly #last = new Last();
  #holds: string | null = null;
  #measured: string | null = null;
  #idle = true;
  #leader: string | null = null;
  /** When to call, or to wait no longer. */
  #due: number | null = null;
  #called: number | null = null;
  #hastened: number | null = null;

  constructor(private readonly own: string) {
    this.survivors = new Survivors(own);
  }

  /** When `time_passed` is due next; null while only another event can change anything. */
  timer(): number | null {
    return this.#due;
  }

  /** Changes the state by one event; what the host has to do, in order. */
  happened(event: Event, now: number): Effects {
    switch (event.type) {
      case "reached":
        return this.#reached();
      case "deserted":
        this.#deserted(event.busy, now);
        break;
      case "told":
        this.#last.told(event.frame);
        break;
      case "linked":
        return this.#linkedWith(event.client);
      case "lost":
        this.#lost(event.client, now);
        break;
      case "heard":
        return this.#heard(event.client, event.frame, now);
      case "trained":
        return this.#trained(event.report);
      case "averaged":
        this.#averaged(event.order, event.weights, now);
        break;
      case "failed":
        this.#failed(now);
        break;
      case "certified":
        return this.#certified(event.certificate, now);
      case "measured":
        return this.#hasMeasured(event.report, now);
      case "time_passed":
        return this.#timePassed(now);
    }
    return [];
  }

  /** The other survivors to whom there are links, while this peer would go on with them; else null. */
  get company(): readonly string[] | null {
    const { certificate, linked } = this.survivors;
    return this.stage === "attended" || certificate?.weights !== this.#holds ? null : linked;
  }

  // The server.

  #reached(): Effects {
    this.#leader = null;
    this.stage = "attended";
    this.#due = null;
    return this.#say({ type: "attended" });
  }

  #deserted(busy: boolean, now: number): void {
    if (this.stage !== "attended") return;
    this.stage = "calling";
    this.#idle = !busy;
    this.#called = null;
    this.#wait(now);
  }

  // The others.

  /** Calls when the patience is over; who never averaged has nothing to call for. */
  #wait(now: number): void {
    this.#due = this.#last.order ? now + this.#last.patience : null;
  }

  #say(frame: ServerlessFrame, clients = this.survivors.linked): Effects {
    return clients.length > 0 ? [{ type: "say", clients, frame }] : [];
  }

  #linkedWith(client: string): Effects {
    this.survivors.up(client);
    if (this.#called === null || this.#calls() === null || !this.survivors.has(client)) return [];
    return this.#say(this.#call(), [client]);
  }

  #lost(client: string, now: number): void {
    this.survivors.down(client);
    if (client === this.#leader) this.#callAgain(now);
  }

  #heard(client: string, frame: ServerlessFrame, now: number): Effects {
    if (!this.survivors.believes(client)) return [];
    switch (frame.type) {
      case "unattended":
        return this.stage === "attended" ? this.#say({ type: "attended" }, [client]) : [];
      case "attended":
        return this.#attended(now);
      case "set_out":
        return this.#follow(client, frame, now);
      case "group":
        return this.#ordered(client, frame);
      case "evaluation":
        if (frame.round === this.survivors.round) this.#measured = this.#holds;
        return [];
      case "trained":
        // That is for who leads.
        return [];
    }
  }

  /** Somebody has the server: nothing is begun until this peer tried it, too. */
  #attended(now: number): Effects {
    if (this.stage === "attended" || this.stage === "averaging") return [];
    this.#callAgain(now);
    if (this.#hastened !== null && now < this.#hastened + this.#last.patience) return [];
    this.#hastened = now;
    return [{ type: "hasten" }];
  }

  // Calling, and setting out.

  /** The certificate of what this peer would go on from, if it can. */
  #calls(): Certificate | null {
    const ready = this.stage === "calling" && this.#idle && this.#last.plan && this.#last.order;
    const shown = this.survivors.certificate;
    if (!ready || shown?.weights !== this.#holds || !this.survivors.has(this.own)) return null;
    return shown;
  }

  #call(): FrameOf<"unattended"> {
    const measures = this.#last.exam !== null && this.#measured !== this.#holds;
    const [round, weights] = [this.#last.number, this.#holds ?? ""];
    return { type: "unattended", round, weights, steward: false, measures };
  }

  #callOut(now: number): Effects {
    this.#wait(now);
    if (this.#calls() === null) return [];
    this.#called ??= now;
    return this.#say(this.#call());
  }

  #follow(client: string, frame: FrameOf<"set_out">, now: number): Effects {
    const called = this.#calls() !== null && this.#called !== null;
    if (!called || frame.weights !== this.#holds || !this.#last.leadsTo(frame.round)) return [];
    return this.#setOut(client, frame, now);
  }

  #setOut(leader: string, { round, weights, measures }: FrameOf<"set_out">, now: number): Effects {
    this.#leader = leader;
    this.#last.setOut(round, weights);
    const exam = measures === this.own ? this.#last.examine() : null;
    if (exam === null) return this.#train(now);
    this.stage = "measuring";
    this.#due = now + exam.seconds;
    return [{ type: "agree", frame: exam }];
  }

  #train(now: number): Effects {
    this.stage = "training";
    this.#idle = false;
    const { plan, seconds, patience } = this.#last;
    this.#due = now + seconds + 2 * patience;
    return plan ? [{ type: "agree", frame: plan }] : [];
  }

  #hasMeasured(report: Evaluation, now: number): Effects {
    if (this.stage !== "measuring") return [];
    this.#measured = this.#holds;
    return [...this.#say({ ...report, round: this.survivors.round }), ...this.#train(now)];
  }

  // From trained to averaged.

  #trained(report: PlanTrained): Effects {
    this.#idle = true;
    if (this.stage !== "training" || report.round !== this.#last.number || this.#leader === null) return [];
    this.stage = "trained";
    return this.#say(report, [this.#leader]);
  }

  #ordered(client: string, order: GroupOrder): Effects {
    const [shown, last] = [this.survivors.certificate, this.#last.order];
    if (this.stage !== "trained" || client !== this.#leader || shown === null || last === null) return [];
    if (order.round !== this.#last.number || objection(order, last, shown, this.own) !== null) return [];
    this.#leader = null;
    this.stage = "averaging";
    this.#idle = false;
    this.#due = null;
    return [{ type: "agree", frame: order }];
  }

  #averaged(order: GroupOrder, weights: string, now: number): void {
    this.#last.averaged(order);
    this.#holds = weights;
    this.#idle = true;
    if (this.stage === "averaging") {
      // The patience is over already: the certificate of the new weights calls.
      this.stage = "calling";
      this.#called = null;
      this.#due = null;
    } else if (this.stage === "calling") this.#wait(now);
  }

  #failed(now: number): void {
    this.#idle = true;
    if (this.stage === "averaging") this.#callAgain(now);
  }

  #certified(certificate: Certificate, now: number): Effects {
    if (this.#holds !== null && certificate.weights !== this.#holds) return [];
    this.survivors.certificate = certificate;
    this.#holds = certificate.weights;
    return this.stage === "calling" && this.#due === null ? this.#callOut(now) : [];
  }

  // Time.

  #timePassed(now: number): Effects {
    if (this.#due === null || now < this.#due) return [];
    if (this.stage === "calling") return this.#callOut(now);
    if (this.stage === "measuring") return this.#train(now);
    this.#callAgain(now);
    return [];
  }

  /** What was begun leads nowhere: everybody calls anew. */
  #callAgain(now: number): void {
    this.#leader = null;
    this.stage = "calling";
    this.#called = null;
    this.#wait(now);
  }
}
