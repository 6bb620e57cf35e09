/**
 * A member of masked rounds: a pure reducer without I/O. The twin is backend/protocols/secagg/member.py.
 *
 * The host (client/session/masking-host.ts) performs the effects in order and reports events. member-round.ts has
 * what the member knows of one round and what it refuses; tests/contract/vectors/secagg.json has conversations that
 * both languages replay. docs/reference/masked-rounds.md describes the protocol.
 */

import { same } from "../../core/data/equality";
import { later, type UserMessage } from "../../core/user-messages";
import { reducer, type Step as StepOf } from "../client/reducer";
import type { FrameOf, ServerFrame } from "../wire/messages";
import type { Effect, Event, Places } from "./member-events";
import {
  fromPlan,
  hasPlan,
  isActive,
  type Masking,
  type MemberRound,
  numberOf,
  type Planned,
  revealFor,
  rosterRefusal,
  send,
  sendersOf,
  sentIn,
  sharesRefusal,
  signaturesRefusal,
  signersOf,
  spentRefusal,
  survivorsRefusal,
} from "./member-round";
import { degree, neighboursOf } from "./terms";

/** What the member does or waits for; its page explains each word. */
export type Stage =
  | "idle"
  // Advertise keys: the host makes them; they are sent, and the member waits for the roster.
  | "keys"
  | "roster"
  // Share keys: the host checks the roster and seals shares; they are sent, and the member waits for those of the
  // others, which the host opens.
  | "checking"
  | "sealing"
  | "dealing"
  | "opening"
  // Masked input.
  | "masked"
  // Consistency check, where the survivors are signed: the host signs the survivors; the signature is sent; the host
  // checks those of the others.
  | "signing"
  | "vouched"
  | "weighing"
  // Unmask: the host takes out shares; they are sent.
  | "revealing"
  | "revealed"
  // The member sends nothing but a decline in this round.
  | "refused";

/** The tag of an event, or of the server's frame that it carries. */
export type Tag = Exclude<Event["type"], "frame"> | ServerFrame["type"];
type Row = Readonly<Partial<Record<Tag, readonly Stage[]>>>;

/** Legal in every stage of a round; a new plan begins another round. */
const ALWAYS: Row = {
  planned: ["keys", "refused"],
  welcomed: [],
  stopped: ["idle"],
  version: ["idle"],
  abandoned: ["idle"],
  state: ["idle"],
};
/** Stages in which the host performs an effect, which can fail. */
const WORKING: Row = { ...ALWAYS, failed: ["refused"] };
/** The server may repeat its frames; a different roster, different shares or different survivors are refused. */
const ROSTER: Row = { roster: ["refused"] };
const SHARES: Row = { ...ROSTER, dealt: ["refused"] };
const SURVIVORS: Row = { ...SHARES, survivors: ["refused"], unmask: ["refused"] };

/**
 * The table of transitions: for each stage the legal events and frames, and the stages that they may lead to (or they
 * leave the stage as it is). Other events have no effects and change nothing.
 */
export const TRANSITIONS: Readonly<Record<Stage, Row>> = {
  idle: { planned: ["keys"] },
  keys: { ...WORKING, keys_made: ["roster", "refused"] },
  roster: { ...ALWAYS, roster: ["checking", "refused"] },
  checking: { ...WORKING, ...ROSTER, roster_checked: ["sealing", "refused"] },
  sealing: { ...WORKING, ...ROSTER, shares_sealed: ["dealing"] },
  dealing: { ...ALWAYS, ...ROSTER, dealt: ["opening", "refused"] },
  opening: { ...WORKING, ...SHARES, shares_opened: ["masked"] },
  masked: {
    ...WORKING,
    ...SHARES,
    survivors: ["signing", "refused"],
    unmask: ["weighing", "revealing", "refused"],
  },
  signing: { ...WORKING, ...SURVIVORS, survivors_signed: ["vouched"], unmask: ["weighing", "refused"] },
  vouched: { ...ALWAYS, ...SURVIVORS, unmask: ["weighing", "refused"] },
  weighing: { ...WORKING, ...SURVIVORS, vouchers_checked: ["revealing", "refused"] },
  revealing: { ...WORKING, ...SURVIVORS, revealed: ["revealed"] },
  revealed: { ...ALWAYS, ...SURVIVORS },
  refused: { ...ALWAYS, planned: ["keys"] },
};

/** Stages before any share was revealed: only in these may the server ask for a reveal. */
const ASKABLE: readonly Stage[] = ["masked", "signing", "vouched"];
const OTHER_SURVIVORS = later("The server named other survivors to this client before.");

/** A report of the host about the round in which it performed an effect. */
type HostEvent = Exclude<Event, { type: "planned" | "frame" | "welcomed" | "stopped" }>;

/** The part of one client in the masked rounds of one task, one round at a time. */
export interface State {
  readonly stage: Stage;
  /** The newest round that began. Neither it nor an earlier one can begin again. */
  readonly latest: number;
  readonly round: MemberRound | null;
  /** Why the member gave up the last round, for people. */
  readonly reason: UserMessage | null;
}

export const INITIAL: State = { stage: "idle", latest: 0, round: null, reason: null };

type Step = StepOf<State, Effect>;
const { step } = reducer<State, Effect>();

/** Returns the number of clients among which the update is masked; 0 before the roster is known. */
export function members({ round }: State): number {
  return round?.members.length ?? 0;
}

/** Returns the event's tag in the table: for a frame that of the frame. */
export function tagOf(event: Event): Tag {
  return event.type === "frame" ? event.frame.type : event.type;
}

/** Returns the state after one event, and the effects that the host has to perform. */
export function handle(state: State, event: Event): Step {
  if (TRANSITIONS[state.stage][tagOf(event)] === undefined) return step(state);
  if (event.type === "planned") {
    return event.plan.masking ? planned(state, event, event.plan.masking) : step(state);
  }
  if (event.type === "stopped") return forget(state);
  const { round } = state;
  if (round === null) return step(state);
  switch (event.type) {
    case "welcomed":
      return welcomed(state, round);
    case "frame":
      return frame(state, round, event.frame);
    default: {
      const number = event.type === "keys_made" ? event.keys.round : event.round;
      return number === numberOf(round) ? hostEvent(state, round, event) : step(state);
    }
  }
}

/** Enters a stage with this knowledge of the round. */
function enter(state: State, stage: Stage, round: MemberRound, ...effects: readonly Effect[]): Step {
  return step({ ...state, stage, round }, ...effects);
}

function planned(state: State, event: Planned, masking: Masking): Step {
  const { client, bundle, plan } = event;
  const { round } = state;
  if (round && plan.round === numberOf(round)) {
    if (hasPlan(round, event) || state.stage === "refused") return step(state);
    return giveUp(state, round, later("The server gave this round other terms before."));
  }
  if (plan.round <= state.latest) {
    const reason = later("The server went back to round %(round)s, after %(latest)s; stop and join again.", {
      round: plan.round,
      latest: state.latest,
    });
    return step(state, { type: "give_up", round: plan.round, reason }, decline(plan.round));
  }
  const forgotten = forget(state);
  const next: State = {
    stage: "keys",
    latest: plan.round,
    round: fromPlan(event, masking),
    reason: null,
  };
  return step(next, ...forgotten.effects, { type: "make_keys", client, bundle, plan });
}

function welcomed(state: State, round: MemberRound): Step {
  return step(
    state,
    ...(state.stage === "refused" ? [decline(numberOf(round), round.spent)] : sentIn(round)),
  );
}

// Reports of the host.

function hostEvent(state: State, round: MemberRound, event: HostEvent): Step {
  const number = numberOf(round);
  switch (event.type) {
    case "failed":
      return giveUp(state, round, event.reason);
    case "keys_made": {
      const refusal = spentRefusal(round, event.spent);
      if (refusal) return giveUp(state, round, refusal, true);
      return enter(state, "roster", { ...round, keys: event.keys }, send(event.keys));
    }
    case "roster_checked":
      return rosterChecked(state, round, event);
    case "shares_sealed": {
      const shares = { type: "shares", round: number, sealed: event.sealed } as const;
      return enter(state, "dealing", { ...round, shares }, send(shares));
    }
    case "shares_opened": {
      const pairs = sendersOf(round);
      return enter(state, "masked", round, { type: "mask", round: number, place: round.place, pairs });
    }
    case "survivors_signed": {
      const vouch = { type: "vouch", round: number, signature: event.signature } as const;
      return enter(state, "vouched", { ...round, consistencySignature: vouch }, send(vouch));
    }
    case "vouchers_checked":
      if (event.wrong.length > 0) return giveUp(state, round, later("A voucher's signature is wrong."));
      return makeReveal(state, round, round.alive ?? []);
    case "revealed": {
      const reveal = { type: "reveal", round: number, shares: event.shares } as const;
      return enter(state, "revealed", { ...round, reveal }, send(reveal));
    }
  }
}

function rosterChecked(
  state: State,
  round: MemberRound,
  event: Extract<Event, { type: "roster_checked" }>,
): Step {
  if (event.wrong.length > 0) {
    return giveUp(state, round, later("The roster has keys that cannot be used, or were not signed."));
  }
  if (event.changed.length > 0) {
    return giveUp(state, round, later("A client of the roster changed its identity, or is not on the list."));
  }
  const { place, degree } = round;
  const neighbours = neighboursOf(place, event.order, degree.neighbours);
  return enter(
    state,
    "sealing",
    { ...round, neighbours },
    { type: "seal", round: event.round, place, threshold: degree.threshold, neighbours },
  );
}

// Frames of the server.

function frame(state: State, round: MemberRound, message: ServerFrame): Step {
  switch (message.type) {
    case "version":
    case "abandoned":
      return roundOver(state, round, message.round);
    case "state":
      return message.phase === "finished" ? forget(state) : roundOver(state, round, message.round - 1);
    case "roster":
    case "dealt":
    case "survivors":
    case "unmask":
      return message.round === numberOf(round) ? masked(state, round, message) : step(state);
    default:
      return step(state);
  }
}

function masked(
  state: State,
  round: MemberRound,
  message: FrameOf<"roster" | "dealt" | "survivors" | "unmask">,
): Step {
  switch (message.type) {
    case "roster":
      return roster(state, round, message);
    case "dealt":
      return dealt(state, round, message);
    case "survivors":
      return survivors(state, round, message);
    case "unmask":
      return unmask(state, round, message);
  }
}

function roster(state: State, round: MemberRound, message: FrameOf<"roster">): Step {
  if (round.members.length > 0) {
    if (!same(message.members, round.members)) {
      return giveUp(state, round, later("The server sent this client another roster before."));
    }
    return round.shares ? step(state, send(round.shares)) : step(state);
  }
  if (round.keys === null) return step(state);
  const reason = rosterRefusal(round, message.members, round.keys);
  if (reason) return giveUp(state, round, reason);
  const { client } = round.planned;
  const place = message.members.findIndex((member) => member.client === client);
  const graph = degree(message.members.length, round.masking.server);
  return enter(
    state,
    "checking",
    { ...round, members: message.members, place, degree: graph },
    {
      type: "check_roster",
      round: message.round,
      members: message.members,
      degree: graph.neighbours,
      threshold: graph.threshold,
      verify: isActive(round),
    },
  );
}

function dealt(state: State, round: MemberRound, message: FrameOf<"dealt">): Step {
  if (round.dealt) {
    if (same(message, round.dealt)) return step(state);
    return giveUp(state, round, later("The server dealt this client other shares before."));
  }
  const reason = sharesRefusal(round, message);
  if (reason) return giveUp(state, round, reason);
  const { senders, sealed } = message;
  return enter(
    state,
    "opening",
    { ...round, dealt: message },
    { type: "open", round: message.round, place: round.place, senders, sealed },
  );
}

/** Has the survivors signed if the round needs signatures; otherwise ignores them. */
function survivors(state: State, round: MemberRound, message: FrameOf<"survivors">): Step {
  const { alive } = message;
  if (signersOf(round) === 0) return step(state);
  if (round.alive !== null) {
    if (!same(alive, round.alive)) return giveUp(state, round, OTHER_SURVIVORS);
    return round.consistencySignature ? step(state, send(round.consistencySignature)) : step(state);
  }
  const reason = survivorsRefusal(round, alive);
  if (reason) return giveUp(state, round, reason);
  return enter(
    state,
    "signing",
    { ...round, alive },
    { type: "sign_survivors", round: message.round, alive },
  );
}

function unmask(state: State, round: MemberRound, message: FrameOf<"unmask">): Step {
  const { alive, vouchers, signatures } = message;
  if (round.alive !== null && !same(alive, round.alive)) return giveUp(state, round, OTHER_SURVIVORS);
  if (!ASKABLE.includes(state.stage)) {
    return round.reveal ? step(state, send(round.reveal)) : step(state);
  }
  const signed = signersOf(round) > 0;
  const reason = survivorsRefusal(round, alive) ?? (signed ? signaturesRefusal(round, message) : null);
  if (reason) return giveUp(state, round, reason);
  const named: MemberRound = { ...round, alive };
  if (!signed) return makeReveal(state, named, alive);
  return enter(state, "weighing", named, {
    type: "check_vouchers",
    round: message.round,
    alive,
    vouchers,
    signatures,
  });
}

// The rest of the round.

function makeReveal(state: State, round: MemberRound, alive: Places): Step {
  return enter(state, "revealing", round, revealFor(round, alive));
}

/** Ends the round if its number is `number` or lower. */
function roundOver(state: State, round: MemberRound, number: number): Step {
  return numberOf(round) <= number ? forget(state) : step(state);
}

/** Gives up the round: from now on only a decline is sent in it. */
function giveUp(state: State, round: MemberRound, reason: UserMessage, spent = false): Step {
  const number = numberOf(round);
  const forgotten = forget(state);
  const refused: State = {
    ...state,
    stage: "refused",
    round: { ...fromPlan(round.planned, round.masking), spent },
    reason,
  };
  return step(
    refused,
    { type: "give_up", round: number, reason },
    ...forgotten.effects,
    decline(number, spent),
  );
}

function forget(state: State): Step {
  const next: State = { ...state, stage: "idle", round: null };
  return state.round && state.stage !== "refused"
    ? step(next, { type: "forget", round: numberOf(state.round) })
    : step(next);
}

function decline(round: number, spent = false): Effect {
  return send({ type: "decline", round, spent });
}
