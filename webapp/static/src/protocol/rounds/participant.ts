/**
 * A participant of a task with rounds: a pure reducer without I/O. The twin is
 * backend/protocols/client/participant.py.
 *
 * The host (client/session/session.ts) performs the effects in order and reports events;
 * tests/contract/vectors/participant.json has conversations that both languages replay.
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
  NO_CONNECTION,
  openConnection,
  sendWhenOpen,
  start,
} from "../client/connection";
import {
  type AssignedEvaluation,
  beginEvaluation,
  type Evaluate,
  finishEvaluation,
  forgetEvaluation,
  isMeasuring,
  NO_EVALUATION,
} from "../client/evaluation";
import { BROKEN_WORD, hidesExamples, planObjection, welcomeObjection } from "../client/privacy-promise";
import { legalOnly, reducer, type Step } from "../client/reducer";
import type { FrameOf, ServerFrame } from "../wire/messages";
import type { Hello, Offer, ParticipantEffect, ParticipantEvent, Ready, Train } from "./participant-events";
import { LEGAL_PHASES, type ParticipantPhase } from "./participant-phases";

/** One participant of one task, over all of its connections. */
export interface ParticipantState extends ConnectedMachine {
  readonly hello: Hello | null;
  readonly bundle: string | null;
  readonly minNoise: number;
  /** The server's first Welcome, or a later one with stronger terms; it outlives stops and starts. */
  readonly promised: FrameOf<"welcome"> | null;
  readonly ready: Ready | null;
  readonly plan: Train | null;
  readonly offer: Offer | null;
  /** Bytes of the offer handed to `send_chunks` on this connection. */
  readonly sent: number;
  readonly evaluation: AssignedEvaluation;
  /** An accepted offer whose control variate has changed, until a version is known to contain it. */
  readonly counted: Offer | null;
  readonly finished: boolean;
  readonly accepted: number;
  /** Updates that were checked and do not count, and how many more have to be. */
  readonly checked: number;
  readonly probation: number;
  readonly refused: number;
  readonly examples: number;
}

export const INITIAL: ParticipantState = {
  connection: NO_CONNECTION,
  hello: null,
  bundle: null,
  minNoise: 0,
  promised: null,
  ready: null,
  plan: null,
  offer: null,
  sent: 0,
  evaluation: NO_EVALUATION,
  counted: null,
  finished: false,
  accepted: 0,
  checked: 0,
  probation: 0,
  refused: 0,
  examples: 0,
  reason: null,
};

type ParticipantStep = Step<ParticipantState, ParticipantEffect>;
const { step, chain } = reducer<ParticipantState, ParticipantEffect>();

export function phase(state: ParticipantState): ParticipantPhase {
  return disconnectedPhase(state.connection) ?? connectedPhase(state);
}

function connectedPhase(state: ParticipantState): ParticipantPhase {
  if (state.ready === null) return "loading";
  if (state.finished) return "finished";
  if (state.plan === null) return isMeasuring(state.evaluation) ? "evaluating" : "waiting";
  return state.offer === null ? "training" : "uploading";
}

/**
 * Returns the state after one event, and the host's effects. An event that is illegal in this phase changes nothing.
 */
export const handle = legalOnly(LEGAL_PHASES, phase, apply);

function apply(state: ParticipantState, event: ParticipantEvent): ParticipantStep {
  switch (event.type) {
    case "start":
      return start(state, { hello: event.hello, finished: false, minNoise: event.min_noise });
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
  // Loss and sums are exact values of the examples; nothing would hide a single example in them.
  const hidden = masking === null && privacy === null ? {} : { loss: 0, sums: [] };
  const amounts = masking === null ? {} : { examples: 0, steps: 0 };
  const offer: Offer = { ...event, ...hidden, ...amounts, type: "offer", version };
  return sendWhenOpen({ ...state, offer, sent: 0 }, offer);
}

function frame(state: ParticipantState, message: ServerFrame): ParticipantStep {
  if (!expects(state.connection, message.type, "welcome")) return step(state);
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
      if (!message.counted && !message.reason) {
        const probation = Math.max(0, state.probation - 1);
        return roundOver({ ...state, checked: state.checked + 1, probation }, message.round);
      }
      if (!message.counted) return roundOver({ ...state, reason: message.reason }, message.round);
      const { accepted, examples } = state;
      const next = { ...state, accepted: accepted + 1, examples: examples + message.examples };
      return chain(
        next,
        (current) => keepChange(current, message.round),
        (current) => roundOver(current, message.round),
      );
    }
    case "refused":
      return roundOver({ ...state, refused: state.refused + 1, reason: message.reason }, message.round);
    case "version":
      return chain(
        state,
        (current) => versionKnown(current, message.version),
        (current) => missed(current, message.round),
      );
    case "abandoned":
      return chain(
        state,
        (current) => undoChange(current, message.round),
        (current) => missed(current, message.round),
      );
    case "state": {
      const finished = message.phase === "finished";
      return chain(
        { ...state, finished },
        (current) => versionKnown(current, message.version),
        (current) => (finished ? forgetAll(current) : missed(current, message.round - 1)),
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
      // The machine of masked rounds handles these frames.
      return step(state);
  }
}

function welcome(state: ParticipantState, promised: FrameOf<"welcome">): ParticipantStep {
  const { bundle, aggregation } = promised;
  if (!state.hello?.aggregation.includes(aggregation)) return breakConnection(state, BROKEN_WORD, forgetAll);
  const objection = welcomeObjection(promised, state.promised, state.minNoise);
  if (objection !== null) return breakConnection(state, objection, forgetAll);
  const open = openConnection({ ...state, promised, probation: promised.probation });
  if (state.bundle !== bundle) {
    // This is the first session, or the task's model was converted again during an absence.
    const forgotten = forgetAll({ ...open, bundle, ready: null, counted: null });
    return step(forgotten.state, ...forgotten.effects, { type: "load", bundle });
  }
  if (open.ready === null) return step(open);
  const frames = [open.ready, open.offer, open.evaluation.result].filter((frame) => frame !== null);
  return step({ ...open, sent: 0 }, ...frames.map((frame) => ({ type: "send", frame }) as const));
}

function train(state: ParticipantState, plan: Train): ParticipantStep {
  if (state.ready === null || state.promised === null) return step(state);
  const objection = planObjection(plan, state.promised, state.ready.examples);
  if (objection !== null) return breakConnection(state, objection, forgetAll);
  const plannedBefore = state.plan;
  if (
    plannedBefore &&
    plannedBefore.round === plan.round &&
    plannedBefore.version === plan.version &&
    plannedBefore.seed === plan.seed
  ) {
    // The server repeats the plan after a reconnection; the client is already working on it.
    return step(state);
  }
  const { counted } = state;
  return chain(
    state,
    (current) =>
      counted && plan.version <= counted.version ? undoChange(current, counted.round) : step(current),
    (current) => versionKnown(current, plan.version),
    forgetAll,
    (current) => step({ ...current, plan, finished: false }, { type: "train", plan }),
  );
}

/**
 * Begins an evaluation, unless the client trains: training has priority, and the order gets no answer. Own examples are
 * not measured where masks or noise hide them: their exact loss would say too much.
 */
function evaluate(state: ParticipantState, order: Evaluate): ParticipantStep {
  if (state.ready === null || (state.plan !== null && state.offer === null)) return step(state);
  if (order.shards.length === 0 && hidesExamples(state.promised)) return step(state);
  return beginEvaluation(state, order);
}

function credit(state: ParticipantState, round: number, granted: number): ParticipantStep {
  if (state.offer === null || round !== state.offer.round) return step(state);
  const until = Math.min(granted, state.offer.size);
  if (until <= state.sent) return step(state);
  return step({ ...state, sent: until }, { type: "send_chunks", round, from: state.sent, until });
}

/** Applies the change of the control variate immediately: a client that stops now has no later chance. */
function keepChange(state: ParticipantState, round: number): ParticipantStep {
  const { plan, offer } = state;
  if (!plan?.control || offer?.round !== round) return step(state);
  return step({ ...state, counted: offer }, { type: "keep_change", round });
}

function undoChange(state: ParticipantState, round: number): ParticipantStep {
  if (state.counted?.round !== round) return step(state);
  return step({ ...state, counted: null }, { type: "undo_change", round });
}

/** `version` exists: the updates in it need no undoing, and older versions need no evaluation. */
function versionKnown(state: ParticipantState, version: number): ParticipantStep {
  const { counted } = state;
  const next = counted && counted.version < version ? { ...state, counted: null } : state;
  return forgetEvaluation(next, version - 1);
}

/** Forgets the current round if it is `round` or an earlier one: its update can no longer count. */
function roundOver(state: ParticipantState, round: number): ParticipantStep {
  return state.plan && state.plan.round <= round ? forgetRound(state) : step(state);
}

/** Does what `roundOver` does; a client that was still training then reports again that it is ready. */
function missed(state: ParticipantState, round: number): ParticipantStep {
  const over = roundOver(state, round);
  const frames: ParticipantEffect[] =
    state.ready && phase(state) === "training" ? [{ type: "send", frame: state.ready }] : [];
  return over.effects.length > 0 ? step(over.state, ...over.effects, ...frames) : over;
}

function forgetRound(state: ParticipantState): ParticipantStep {
  const training = state.plan !== null && state.offer === null;
  const next = { ...state, plan: null, offer: null, sent: 0 };
  return training ? step(next, { type: "abort_training" }) : step(next);
}

function forgetAll(state: ParticipantState): ParticipantStep {
  return chain(state, forgetRound, (current) => forgetEvaluation(current));
}
