/**
 * A member of masked rounds, without I/O: a pure reducer. `backend/protocols/secagg/member.py` is its mirror and draws
 * its stages.
 *
 * The host (client/session/masking-host.ts) performs the effects in order and reports events. member-state.ts has what
 * the member knows of one round, refusals.ts what it refuses; tests/contract/vectors/secagg.json holds conversations
 * that both languages replay. docs/decisions/0017-masked-rounds.md has the protocol.
 */

import { same } from "../../core/data/equality";
import { reducer, type Step as StepOf } from "../client/reducer";
import type { FrameOf, ServerFrame } from "../wire/messages";
import type { Effect, Event, Places } from "./member-events";
import {
  begun,
  isActive,
  isPlannedBy,
  least,
  type Masking,
  objection,
  type Part,
  type Planned,
  revealOf,
  said,
  send,
  senders,
} from "./member-state";
import { ofDealt, ofRoster, ofVouchers } from "./refusals";
import { degree, neighboursOf } from "./terms";

/** What the member does, or waits for, in the word that its page explains. */
export type Stage =
  | "idle"
  | "keys"
  | "roster"
  | "checking"
  | "sealing"
  | "dealing"
  | "opening"
  | "masked"
  | "signing"
  | "vouched"
  | "weighing"
  | "revealing"
  | "revealed"
  | "refused";

/** What the host reports of a round in which it was asked to work. */
type Outcome = Exclude<Event, { type: "planned" | "frame" | "welcomed" | "stopped" }>;

/** One client's part in the masked rounds of one task, one round at a time. */
export interface State {
  readonly stage: Stage;
  /** The last round begun; none up to it begins again. */
  readonly latest: number;
  readonly part: Part | null;
  /** Why the last round was given up, for people. */
  readonly reason: string | null;
}

export const INITIAL: State = { stage: "idle", latest: 0, part: null, reason: null };

type Step = StepOf<State, Effect>;
const { step } = reducer<State, Effect>();

const OTHERS = "The server named other survivors to this client before.";
/** Where the host works for the machine, and can fail. */
const WORKING: readonly Stage[] = [
  "keys",
  "checking",
  "sealing",
  "opening",
  "masked",
  "signing",
  "weighing",
  "revealing",
];

/** Among how many the update is masked; 0 before the roster is known. */
export function members({ part }: State): number {
  return part?.members.length ?? 0;
}

/** The state after one event, and what the host has to do. An event that makes no sense now changes nothing. */
export function handle(state: State, event: Event): Step {
  switch (event.type) {
    case "planned":
      return event.plan.masking ? planned(state, event, event.plan.masking) : step(state);
    case "frame":
      return frame(state, event.frame);
    case "stopped":
      return forget(state);
    case "welcomed":
      if (state.part === null) return step(state);
      return step(
        state,
        ...(state.stage === "refused" ? [decline(state.part.terms.plan.round)] : said(state.part)),
      );
    default: {
      const { part } = state;
      const round = event.type === "keys_made" ? event.keys.round : event.round;
      return part && round === part.terms.plan.round ? worked(state, part, event) : step(state);
    }
  }
}

/** The stage that follows, and what is known in it besides. */
function enter(state: State, stage: Stage, part: Part, ...effects: readonly Effect[]): Step {
  return step({ ...state, stage, part }, ...effects);
}

function planned(state: State, event: Planned, masking: Masking): Step {
  const { client, bundle, plan } = event;
  const { part } = state;
  if (part && plan.round === part.terms.plan.round) {
    if (isPlannedBy(part, event) || state.stage === "refused") return step(state);
    return giveUp(state, part, "The server gave this round other terms before.");
  }
  if (plan.round <= state.latest) {
    const reason = `The server went back to round ${plan.round}, after ${state.latest}; stop and join again.`;
    return step(state, { type: "give_up", round: plan.round, reason }, decline(plan.round));
  }
  const forgotten = forget(state);
  const next: State = { stage: "keys", latest: plan.round, part: begun(event, masking), reason: null };
  return step(next, ...forgotten.effects, { type: "make_keys", client, bundle, plan });
}

function decline(round: number): Effect {
  return { type: "send", frame: { type: "decline", round } };
}

// What the host did.

function worked(state: State, part: Part, event: Outcome): Step {
  const { round } = part.terms.plan;
  switch (event.type) {
    case "failed":
      return WORKING.includes(state.stage) ? giveUp(state, part, event.reason) : step(state);
    case "keys_made":
      if (state.stage !== "keys") return step(state);
      return enter(state, "roster", { ...part, keys: event.keys }, send(event.keys));
    case "roster_checked":
      return state.stage === "checking" ? rosterChecked(state, part, event) : step(state);
    case "shares_sealed": {
      if (state.stage !== "sealing") return step(state);
      const shares = { type: "shares", round, sealed: event.sealed } as const;
      return enter(state, "dealing", { ...part, shares }, send(shares));
    }
    case "shares_opened":
      if (state.stage !== "opening") return step(state);
      return enter(state, "masked", part, { type: "mask", round, place: part.place, pairs: senders(part) });
    case "survivors_signed": {
      if (state.stage !== "signing") return step(state);
      const vouch = { type: "vouch", round, signature: event.signature } as const;
      return enter(state, "vouched", { ...part, vouch }, send(vouch));
    }
    case "vouchers_checked":
      if (state.stage !== "weighing") return step(state);
      if (event.wrong.length > 0) return giveUp(state, part, "A voucher's signature is wrong.");
      return makeReveal(state, part, part.alive ?? []);
    case "revealed": {
      if (state.stage !== "revealing") return step(state);
      const reveal = { type: "reveal", round, shares: event.shares } as const;
      return enter(state, "revealed", { ...part, reveal }, send(reveal));
    }
  }
}

function rosterChecked(state: State, part: Part, event: Extract<Event, { type: "roster_checked" }>): Step {
  if (event.wrong.length > 0) {
    return giveUp(state, part, "The roster has keys that cannot be used, or were not signed.");
  }
  if (event.changed.length > 0) {
    return giveUp(state, part, "A client of the roster is not who it was, or is not on the list.");
  }
  const { place, degree } = part;
  const around = neighboursOf(place, event.order, degree.neighbours);
  return enter(
    state,
    "sealing",
    { ...part, neighbours: around },
    { type: "seal", round: event.round, place, threshold: degree.threshold, neighbours: around },
  );
}

// What the server said.

function frame(state: State, message: ServerFrame): Step {
  switch (message.type) {
    case "roster":
    case "dealt":
    case "survivors":
    case "unmask": {
      const { part } = state;
      if (part?.terms.plan.round !== message.round || state.stage === "refused") return step(state);
      return asked(state, part, message);
    }
    case "version":
    case "abandoned":
      return over(state, message.round);
    case "state":
      return message.phase === "finished" ? forget(state) : over(state, message.round - 1);
    default:
      return step(state);
  }
}

function asked(
  state: State,
  part: Part,
  message: FrameOf<"roster" | "dealt" | "survivors" | "unmask">,
): Step {
  switch (message.type) {
    case "roster":
      return roster(state, part, message);
    case "dealt":
      return dealt(state, part, message);
    case "survivors":
      return survivors(state, part, message);
    case "unmask":
      return unmask(state, part, message);
  }
}

function roster(state: State, part: Part, message: FrameOf<"roster">): Step {
  if (part.members.length > 0) {
    if (!same(message.members, part.members)) {
      return giveUp(state, part, "The server sent this client another roster before.");
    }
    return part.shares ? step(state, send(part.shares)) : step(state);
  }
  if (state.stage !== "roster" || part.keys === null) return step(state);
  const { client } = part.terms;
  const active = isActive(part);
  const reason = ofRoster(message.members, client, part.keys, least(part), active);
  if (reason) return giveUp(state, part, reason);
  const place = message.members.findIndex((member) => member.client === client);
  const graph = degree(message.members.length, part.masking.server);
  return enter(
    state,
    "checking",
    { ...part, members: message.members, place, degree: graph },
    {
      type: "check_roster",
      round: message.round,
      members: message.members,
      degree: graph.neighbours,
      threshold: graph.threshold,
      verify: active,
    },
  );
}

function dealt(state: State, part: Part, message: FrameOf<"dealt">): Step {
  if (part.dealt) {
    const reason = "The server dealt this client other shares before.";
    return same(message, part.dealt) ? step(state) : giveUp(state, part, reason);
  }
  if (state.stage !== "dealing") return step(state);
  const reason = ofDealt(message, part.neighbours, part.members.length, part.degree.threshold);
  if (reason) return giveUp(state, part, reason);
  const { round, senders, sealed } = message;
  return enter(
    state,
    "opening",
    { ...part, dealt: message },
    { type: "open", round, place: part.place, senders, sealed },
  );
}

/** Where the server may lie they are vouched for; elsewhere nobody asks. */
function survivors(state: State, part: Part, { round, alive }: FrameOf<"survivors">): Step {
  if (!isActive(part)) return step(state);
  if (part.alive !== null) {
    if (!same(alive, part.alive)) return giveUp(state, part, OTHERS);
    return part.vouch ? step(state, send(part.vouch)) : step(state);
  }
  if (state.stage !== "masked") return step(state);
  const reason = objection(part, alive);
  if (reason) return giveUp(state, part, reason);
  return enter(state, "signing", { ...part, alive }, { type: "sign_survivors", round, alive });
}

function unmask(state: State, part: Part, message: FrameOf<"unmask">): Step {
  const { round, alive, vouchers, signatures } = message;
  if (part.alive !== null && !same(alive, part.alive)) return giveUp(state, part, OTHERS);
  if (state.stage !== "masked" && state.stage !== "signing" && state.stage !== "vouched") {
    return part.reveal ? step(state, send(part.reveal)) : step(state);
  }
  const active = isActive(part);
  const reason = objection(part, alive) ?? (active ? ofVouchers(message, part.degree.threshold) : null);
  if (reason) return giveUp(state, part, reason);
  const named: Part = { ...part, alive };
  if (!active) return makeReveal(state, named, alive);
  return enter(state, "weighing", named, { type: "check_vouchers", round, alive, vouchers, signatures });
}

// What follows.

function makeReveal(state: State, part: Part, alive: Places): Step {
  return enter(state, "revealing", part, revealOf(part, alive));
}

/** Round `number` is over, and those before it. */
function over(state: State, number: number): Step {
  return state.part && state.part.terms.plan.round <= number ? forget(state) : step(state);
}

/** Says nothing but that in this round, whatever comes. */
function giveUp(state: State, part: Part, reason: string): Step {
  const { round } = part.terms.plan;
  const forgotten = forget(state);
  const refused: State = {
    ...state,
    stage: "refused",
    part: begun(part.terms, part.masking),
    reason,
  };
  return step(refused, { type: "give_up", round, reason }, ...forgotten.effects, decline(round));
}

function forget(state: State): Step {
  const next: State = { ...state, stage: "idle", part: null };
  return state.part && state.stage !== "refused"
    ? step(next, { type: "forget", round: state.part.terms.plan.round })
    : step(next);
}
