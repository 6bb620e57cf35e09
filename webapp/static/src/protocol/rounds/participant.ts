/**
 * The browser's session on a task's socket, without I/O: a pure reducer. `backend/protocols/client/participant.py` is its mirror.
 *
 * The host (client/session/session.ts) performs the effects in order and reports events;
 * tests/contract/vectors/participant.json holds conversations that both languages replay.
 */

import {
  breakConnection,
  type ConnectedMachine,
  disconnectedPhase,
  dismiss,
  expects,
  greet,
  leave,
  loseConnection,
  NO_CONTACT,
  openConnection,
  sendWhenOpen,
  start,
} from "../client/connection";
import {
  beginEvaluation,
  type Evaluate,
  type EvaluationState,
  finishEvaluation,
  forgetEvaluation,
  isMeasuring,
  NO_EVALUATION,
} from "../client/evaluation";
import { legalOnly, reducer, type Step } from "../client/reducer";
import type { FrameOf, ServerFrame } from "../wire/messages";
import type { Hello, Offer, ParticipantEffect, ParticipantEvent, Ready, Train } from "./participant-events";
import { LEGAL_PHASES, type ParticipantPhase } from "./participant-phases";

// A server that wants something else than was agreed on is left: it could learn what was to be hidden.
const BROKEN_WORD = "The server asks for updates in another way than was agreed on, so this client left it.";

/** One participant of one task, over as many connections as it takes. */
export interface ParticipantState extends ConnectedMachine {
  readonly hello: Hello | null;
  readonly bundle: string | null;
  /** How its updates are added up, as the server said. */
  readonly aggregation: FrameOf<"welcome">["aggregation"];
  readonly ready: Ready | null;
  readonly plan: Train | null;
  readonly offer: Offer | null;
  /** Bytes of the offer handed to `send_chunks` on this connection. */
  readonly sent: number;
  readonly exam: EvaluationState;
  /** Accepted with a change of the control variate, and not yet seen in a version. */
  readonly counted: Offer | null;
  readonly finished: boolean;
  readonly accepted: number;
  readonly refused: number;
  readonly examples: number;
}

export const INITIAL: ParticipantState = {
  contact: NO_CONTACT,
  hello: null,
  bundle: null,
  aggregation: "open",
  ready: null,
  plan: null,
  offer: null,
  sent: 0,
  exam: NO_EVALUATION,
  counted: null,
  finished: false,
  accepted: 0,
  refused: 0,
  examples: 0,
  reason: null,
};

type ParticipantStep = Step<ParticipantState, ParticipantEffect>;
const { step, chain } = reducer<ParticipantState, ParticipantEffect>();

export function phase(state: ParticipantState): ParticipantPhase {
  return disconnectedPhase(state.contact) ?? connectedPhase(state);
}

function connectedPhase(state: ParticipantState): ParticipantPhase {
  if (state.ready === null) return "loading";
  if (state.finished) return "finished";
  if (state.plan === null) return isMeasuring(state.exam) ? "evaluating" : "waiting";
  return state.offer === null ? "training" : "uploading";
}

/** The state after one event, and what the host has to do. An event that makes no sense now changes nothing. */
export const handle = legalOnly(LEGAL_PHASES, phase, apply);

function apply(state: ParticipantState, event: ParticipantEvent): ParticipantStep {
  switch (event.type) {
    case "start":
      return start(state, { hello: event.hello, finished: false });
    case "connected":
      return greet(state, greeting(state));
    case "frame":
      return frame(state, event.frame);
    case "loaded":
      return loaded(state, { ...event, type: "ready" });
    case "trained":
      return trained(state, event);
    case "measured":
      return finishEvaluation(state, event);
    case "disconnected":
      return loseConnection(state, event.random);
    case "stop":
      return chain(state, leave, forgetAll);
  }
}

function greeting({ hello, ready }: ParticipantState): Hello | null {
  return hello && { ...hello, backend: ready?.backend ?? hello.backend };
}

function loaded(state: ParticipantState, ready: Ready): ParticipantStep {
  if (state.bundle === null || state.ready !== null) return step(state);
  return sendWhenOpen({ ...state, ready }, ready);
}

function trained(
  state: ParticipantState,
  event: Extract<ParticipantEvent, { type: "trained" }>,
): ParticipantStep {
  if (state.plan === null || state.offer !== null || event.round !== state.plan.round) return step(state);
  const { version, masking, privacy } = state.plan;
  // Loss and sums are of the examples as they are: nothing hides one among them.
  const hidden = masking === null && privacy === null ? {} : { loss: 0, sums: [] };
  const amounts = masking === null ? {} : { examples: 0, steps: 0 };
  const offer: Offer = { ...event, ...hidden, ...amounts, type: "offer", version };
  return sendWhenOpen({ ...state, offer, sent: 0 }, offer);
}

function frame(state: ParticipantState, message: ServerFrame): ParticipantStep {
  if (!expects(state.contact, message.type, "welcome")) return step(state);
  switch (message.type) {
    case "closing":
      return dismiss(state, message, forgetAll);
    case "welcome":
      return welcome(state, message);
    case "train":
      return train(state, message);
    case "credit":
      return credit(state, message.round, message.until);
    case "accepted": {
      const { accepted, examples } = state;
      const next = { ...state, accepted: accepted + 1, examples: examples + message.examples };
      return chain(
        next,
        (now) => keepChange(now, message.round),
        (now) => roundOver(now, message.round),
      );
    }
    case "refused":
      return roundOver({ ...state, refused: state.refused + 1, reason: message.reason }, message.round);
    case "version":
      return chain(
        state,
        (now) => versionKnown(now, message.version),
        (now) => missed(now, message.round),
      );
    case "abandoned":
      return chain(
        state,
        (now) => undoChange(now, message.round),
        (now) => missed(now, message.round),
      );
    case "state": {
      const finished = message.phase === "finished";
      return chain(
        { ...state, finished },
        (now) => versionKnown(now, message.version),
        (now) => (finished ? forgetAll(now) : missed(now, message.round - 1)),
      );
    }
    case "evaluate":
      return evaluate(state, message);
    case "evaluated":
      return message.source === "clients" ? forgetEvaluation(state, message.version) : step(state);
    case "roster":
    case "dealt":
    case "survivors":
    case "unmask":
      // The machine of masked rounds deals with these.
      return step(state);
  }
}

function welcome(state: ParticipantState, { bundle, aggregation }: FrameOf<"welcome">): ParticipantStep {
  if (!state.hello?.aggregation.includes(aggregation)) return breakConnection(state, BROKEN_WORD, forgetAll);
  const open = openConnection({ ...state, aggregation });
  if (state.bundle !== bundle) {
    // The first visit, or the task's model was converted again while we were away.
    const forgotten = forgetAll({ ...open, bundle, ready: null, counted: null });
    return step(forgotten.state, ...forgotten.effects, { type: "load", bundle });
  }
  if (open.ready === null) return step(open);
  const again = [open.ready, open.offer, open.exam.evaluation].filter((frame) => frame !== null);
  return step({ ...open, sent: 0 }, ...again.map((frame) => ({ type: "send", frame }) as const));
}

function train(state: ParticipantState, plan: Train): ParticipantStep {
  if (state.ready === null) return step(state);
  if ((plan.masking !== null) !== (state.aggregation === "masked"))
    return breakConnection(state, BROKEN_WORD, forgetAll);
  const mine = state.plan;
  if (mine && mine.round === plan.round && mine.version === plan.version && mine.seed === plan.seed) {
    // The server repeats the plan after a reconnection; the work in hand is the one it asks for.
    return step(state);
  }
  const { counted } = state;
  return chain(
    state,
    (now) => (counted && plan.version <= counted.version ? undoChange(now, counted.round) : step(now)),
    (now) => versionKnown(now, plan.version),
    forgetAll,
    (now) => step({ ...now, plan, finished: false }, { type: "train", plan }),
  );
}

/** Training comes first: who trains says nothing. */
function evaluate(state: ParticipantState, order: Evaluate): ParticipantStep {
  if (state.ready === null || (state.plan !== null && state.offer === null)) return step(state);
  return beginEvaluation(state, order);
}

function credit(state: ParticipantState, round: number, granted: number): ParticipantStep {
  if (state.offer === null || round !== state.offer.round) return step(state);
  const until = Math.min(granted, state.offer.size);
  if (until <= state.sent) return step(state);
  return step({ ...state, sent: until }, { type: "send_chunks", round, from: state.sent, until });
}

/** A change of the control variate is kept at once: who stops now has no other chance. */
function keepChange(state: ParticipantState, round: number): ParticipantStep {
  const { plan, offer } = state;
  if (!plan?.control || offer?.round !== round) return step(state);
  return step({ ...state, counted: offer }, { type: "keep_change", round });
}

function undoChange(state: ParticipantState, round: number): ParticipantStep {
  if (state.counted?.round !== round) return step(state);
  return step({ ...state, counted: null }, { type: "undo_change", round });
}

/** There is `version`: what made it needs no undoing, and older ones need no measuring. */
function versionKnown(state: ParticipantState, version: number): ParticipantStep {
  const { counted } = state;
  const next = counted && counted.version < version ? { ...state, counted: null } : state;
  return forgetEvaluation(next, version - 1);
}

/** Nothing of `round`, or of one before it, can count any more. */
function roundOver(state: ParticipantState, round: number): ParticipantStep {
  return state.plan && state.plan.round <= round ? forgetRound(state) : step(state);
}

/** Like `roundOver`; one that had not reported yet must say that it is ready for the next round. */
function missed(state: ParticipantState, round: number): ParticipantStep {
  const over = roundOver(state, round);
  const again: ParticipantEffect[] =
    state.ready && phase(state) === "training" ? [{ type: "send", frame: state.ready }] : [];
  return over.effects.length > 0 ? step(over.state, ...over.effects, ...again) : over;
}

function forgetRound(state: ParticipantState): ParticipantStep {
  const training = state.plan !== null && state.offer === null;
  const next = { ...state, plan: null, offer: null, sent: 0 };
  return training ? step(next, { type: "abort_training" }) : step(next);
}

function forgetAll(state: ParticipantState): ParticipantStep {
  return chain(state, forgetRound, (now) => forgetEvaluation(now));
}
