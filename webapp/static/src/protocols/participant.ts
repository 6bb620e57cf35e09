/**
 * The browser's session on a task's socket, without I/O: a pure reducer. `backend/protocols/participant.py` is its mirror.
 *
 * The host (network/session.ts) performs the effects in order and reports events;
 * tests/vectors/participant.json holds conversations that both languages replay.
 */

import type { FrameOf, ServerFrame } from "../shared/wire";
import type { Effect, Evaluation, Event, Exam, Hello, Offer, Ready, Train } from "./participant-events";

const FIRST_DELAY = 0.5;
const LONGEST_DELAY = 30;
// Whom the server sent away comes back as if so many attempts had failed: not within its limits' seconds.
const DISMISSED_ATTEMPTS = 4;

/** What the participant does, in the word that the page explains. */
export type Phase =
  | "stopped"
  | "connecting"
  | "offline"
  | "loading"
  | "waiting"
  | "training"
  | "uploading"
  | "evaluating"
  | "finished";

/** The connection: closed by choice, lost until the next attempt, opening, greeted until Welcome, then open. */
export type Link = "closed" | "lost" | "opening" | "greeted" | "open";

/** One participant of one task, over as many connections as it takes. */
export interface State {
  readonly link: Link;
  readonly hello: Hello | null;
  readonly attempts: number;
  readonly bundle: string | null;
  readonly ready: Ready | null;
  readonly plan: Train | null;
  readonly offer: Offer | null;
  /** Bytes of the offer handed to `send_chunks` on this connection. */
  readonly sent: number;
  readonly exam: Exam | null;
  readonly evaluation: Evaluation | null;
  /** Accepted with a change of the control variate, and not yet seen in a version. */
  readonly counted: Offer | null;
  readonly finished: boolean;
  readonly accepted: number;
  readonly refused: number;
  readonly examples: number;
  /** The last refusal or closing, for people. */
  readonly reason: string | null;
  /** Why the server closed the connection, until it is open again. */
  readonly dismissal: string | null;
}

export const INITIAL: State = {
  link: "closed",
  hello: null,
  attempts: 0,
  bundle: null,
  ready: null,
  plan: null,
  offer: null,
  sent: 0,
  exam: null,
  evaluation: null,
  counted: null,
  finished: false,
  accepted: 0,
  refused: 0,
  examples: 0,
  reason: null,
  dismissal: null,
};

export interface Step {
  readonly state: State;
  readonly effects: readonly Effect[];
}

export function phase(state: State): Phase {
  switch (state.link) {
    case "closed":
      return "stopped";
    case "lost":
      return "offline";
    case "opening":
    case "greeted":
      return "connecting";
    case "open":
      if (state.ready === null) return "loading";
      if (state.finished) return "finished";
      if (state.plan === null) return isMeasuring(state) ? "evaluating" : "waiting";
      return state.offer === null ? "training" : "uploading";
  }
}

/** The state after one event, and what the host has to do. An event that makes no sense now changes nothing. */
export function handle(state: State, event: Event): Step {
  switch (event.type) {
    case "start":
      return start(state, event.hello);
    case "connected":
      return connected(state);
    case "frame":
      return frame(state, event.frame);
    case "loaded":
      return loaded(state, { ...event, type: "ready" });
    case "trained":
      return trained(state, event);
    case "measured":
      return measured(state, event);
    case "disconnected":
      return disconnected(state, event.random);
    case "stop":
      return stop(state);
  }
}

function step(state: State, ...effects: readonly Effect[]): Step {
  return { state, effects };
}

/** One change after the other; the effects of all of them. */
function chain(state: State, ...changes: readonly ((state: State) => Step)[]): Step {
  return changes.reduce<Step>(
    (before, change) => {
      const after = change(before.state);
      return { state: after.state, effects: [...before.effects, ...after.effects] };
    },
    { state, effects: [] },
  );
}

function start(state: State, hello: Hello): Step {
  if (state.link !== "closed") return step(state);
  return step(
    { ...state, link: "opening", hello, attempts: 0, reason: null, dismissal: null, finished: false },
    { type: "connect", delay: 0 },
  );
}

function connected(state: State): Step {
  if (state.hello === null || (state.link !== "opening" && state.link !== "lost")) return step(state);
  const hello = { ...state.hello, backend: state.ready?.backend ?? state.hello.backend };
  return step({ ...state, link: "greeted" }, { type: "send", frame: hello });
}

function disconnected(state: State, random: number): Step {
  if (state.link === "closed") return step(state);
  const delay = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** state.attempts) * (0.5 + random);
  // Beyond ten attempts the delay no longer grows.
  const attempts = Math.min(state.attempts + 1, 10);
  return step({ ...state, link: "lost", attempts }, { type: "connect", delay });
}

function stop(state: State): Step {
  if (state.link === "closed") return step(state);
  const farewell: Effect[] = state.link === "open" ? [{ type: "send", frame: { type: "leave" } }] : [];
  const forgotten = forgetAll({ ...state, link: "closed" });
  return step(forgotten.state, ...farewell, { type: "close" }, ...forgotten.effects);
}

function loaded(state: State, ready: Ready): Step {
  if (state.bundle === null || state.ready !== null) return step(state);
  const next = { ...state, ready };
  return state.link === "open" ? step(next, { type: "send", frame: ready }) : step(next);
}

function trained(state: State, event: Extract<Event, { type: "trained" }>): Step {
  if (state.plan === null || state.offer !== null || event.round !== state.plan.round) return step(state);
  const offer: Offer = { ...event, type: "offer", version: state.plan.version };
  const next = { ...state, offer, sent: 0 };
  return state.link === "open" ? step(next, { type: "send", frame: offer }) : step(next);
}

function measured(state: State, event: Extract<Event, { type: "measured" }>): Step {
  const { exam } = state;
  if (exam === null || state.evaluation !== null) return step(state);
  if (event.round !== exam.round || event.version !== exam.version) return step(state);
  const evaluation: Evaluation = { ...event, type: "evaluation" };
  const next = { ...state, evaluation };
  return state.link === "open" ? step(next, { type: "send", frame: evaluation }) : step(next);
}

/** Before Welcome only Welcome and Closing make sense, after it everything but Welcome. */
function frame(state: State, message: ServerFrame): Step {
  if (message.type === "closing") return closing(state, message);
  if (message.type === "welcome")
    return state.link === "greeted" ? welcome(state, message.bundle) : step(state);
  if (state.link !== "open") return step(state);
  switch (message.type) {
    case "train":
      return train(state, message);
    case "credit":
      return credit(state, message.round, message.until);
    case "accepted": {
      const { accepted, examples } = state;
      const next = { ...state, accepted: accepted + 1, examples: examples + message.examples };
      return chain(
        next,
        (now) => counts(now, message.round),
        (now) => roundOver(now, message.round),
      );
    }
    case "refused":
      return roundOver({ ...state, refused: state.refused + 1, reason: message.reason }, message.round);
    case "version":
      return chain(
        state,
        (now) => learned(now, message.version),
        (now) => missed(now, message.round),
      );
    case "abandoned":
      return chain(
        state,
        (now) => undo(now, message.round),
        (now) => missed(now, message.round),
      );
    case "state": {
      const finished = message.phase === "finished";
      return chain(
        { ...state, finished },
        (now) => learned(now, message.version),
        (now) => (finished ? forgetAll(now) : missed(now, message.round - 1)),
      );
    }
    case "evaluate":
      return evaluate(state, message);
    case "evaluated":
      return message.source === "clients" ? forgetExam(state, message.version) : step(state);
  }
}

function welcome(state: State, bundle: string): Step {
  const open: State = { ...state, link: "open", attempts: 0, dismissal: null };
  if (state.bundle !== bundle) {
    // The first visit, or the task's model was converted again while we were away.
    const forgotten = forgetAll({ ...open, bundle, ready: null, counted: null });
    return step(forgotten.state, ...forgotten.effects, { type: "load", bundle });
  }
  if (open.ready === null) return step(open);
  const again = [open.ready, open.offer, open.evaluation].filter((frame) => frame !== null);
  return step({ ...open, sent: 0 }, ...again.map((frame) => ({ type: "send", frame }) as const));
}

function closing(state: State, { code, reason }: FrameOf<"closing">): Step {
  if (state.link !== "greeted" && state.link !== "open") return step(state);
  if (code !== "replaced") {
    const least = code === "idle" ? 0 : DISMISSED_ATTEMPTS;
    return step({ ...state, reason, dismissal: reason, attempts: Math.max(state.attempts, least) });
  }
  const forgotten = forgetAll({ ...state, reason, link: "closed" });
  return step(forgotten.state, { type: "close" }, ...forgotten.effects);
}

function train(state: State, plan: Train): Step {
  if (state.ready === null) return step(state);
  const mine = state.plan;
  if (mine && mine.round === plan.round && mine.version === plan.version && mine.seed === plan.seed) {
    // The server repeats the plan after a reconnection; the work in hand is the one it asks for.
    return step(state);
  }
  const { counted } = state;
  return chain(
    state,
    (now) => (counted && plan.version <= counted.version ? undo(now, counted.round) : step(now)),
    (now) => learned(now, plan.version),
    forgetAll,
    (now) => step({ ...now, plan, finished: false }, { type: "train", plan }),
  );
}

/** Training comes first: who trains says nothing. */
function evaluate(state: State, exam: Exam): Step {
  if (state.ready === null || (state.plan !== null && state.offer === null)) return step(state);
  const mine = state.exam;
  if (mine && mine.round === exam.round && mine.version === exam.version) {
    // Repeated after a reconnection, like a plan.
    return state.evaluation ? step(state, { type: "send", frame: state.evaluation }) : step(state);
  }
  return chain(
    state,
    (now) => forgetExam(now),
    (now) => step({ ...now, exam, evaluation: null }, { type: "measure", exam }),
  );
}

function credit(state: State, round: number, granted: number): Step {
  if (state.offer === null || round !== state.offer.round) return step(state);
  const until = Math.min(granted, state.offer.size);
  if (until <= state.sent) return step(state);
  return step({ ...state, sent: until }, { type: "send_chunks", round, from: state.sent, until });
}

/** A change of the control variate is kept at once: who stops now has no other chance. */
function counts(state: State, round: number): Step {
  const { plan, offer } = state;
  if (!plan?.control || offer?.round !== round) return step(state);
  return step({ ...state, counted: offer }, { type: "keep_change", round });
}

function undo(state: State, round: number): Step {
  if (state.counted?.round !== round) return step(state);
  return step({ ...state, counted: null }, { type: "undo_change", round });
}

/** There is `version`: what made it needs no undoing, and older ones need no measuring. */
function learned(state: State, version: number): Step {
  const { counted } = state;
  const next = counted && counted.version < version ? { ...state, counted: null } : state;
  return forgetExam(next, version - 1);
}

/** Nothing of `round`, or of one before it, can count any more. */
function roundOver(state: State, round: number): Step {
  return state.plan && state.plan.round <= round ? forgetRound(state) : step(state);
}

/** Like `roundOver`; one that had not reported yet must say that it is ready for the next round. */
function missed(state: State, round: number): Step {
  const over = roundOver(state, round);
  const again: Effect[] =
    state.ready && phase(state) === "training" ? [{ type: "send", frame: state.ready }] : [];
  return over.effects.length > 0 ? step(over.state, ...over.effects, ...again) : over;
}

function forgetRound(state: State): Step {
  const training = state.plan !== null && state.offer === null;
  const next = { ...state, plan: null, offer: null, sent: 0 };
  return training ? step(next, { type: "abort_training" }) : step(next);
}

function isMeasuring({ exam, evaluation }: State): boolean {
  return exam !== null && evaluation === null;
}

/** Forgets the measurement in hand, if it is of version `until` or an older one. */
function forgetExam(state: State, until = Number.POSITIVE_INFINITY): Step {
  if (state.exam === null || state.exam.version > until) return step(state);
  const next = { ...state, exam: null, evaluation: null };
  return isMeasuring(state) ? step(next, { type: "abort_measuring" }) : step(next);
}

function forgetAll(state: State): Step {
  return chain(state, forgetRound, (now) => forgetExam(now));
}
