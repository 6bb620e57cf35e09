/**
 * A mesh peer: a pure reducer without I/O. The twin is backend/protocols/mesh/member.py.
 *
 * The peer trains by the server's plans and averages in the groups that the server names; it continues both while the
 * server is away. The host (client/mesh/session.ts) performs the effects in order and reports events;
 * tests/contract/vectors/mesh_member.json has conversations that both languages replay. Its parts:
 * protocol/client/connection.ts has the connection, member-work.ts a round's work, protocol/client/evaluation.ts the
 * evaluation, member-entry.ts the peer's `enter` frame.
 */

import {
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
import { legalOnly, reducer, type Step } from "../client/reducer";
import type { Ready, Train } from "../rounds/participant-events";
import type { Certificate, GroupOrder, PeerToServer, ServerToPeer } from "../wire/mesh";
import { withAveragedWeights, withCertificate, withFetchedWeights, withoutForeign } from "./member-entry";
import type {
  Agreement,
  Enter,
  Entered,
  GroupAveraged,
  GroupFailed,
  MemberEffect,
  MemberEvent,
} from "./member-events";
import { LEGAL_PHASES, type MeshPhase } from "./member-phases";
import {
  abortEffects,
  acceptsOrder,
  endsGroup,
  isWork,
  type MemberWork,
  NO_WORK,
  repeats,
  trainedReport,
} from "./member-work";
import { FIRST_SERVERLESS_GROUP } from "./serverless/last-round";

/** One peer of one task's mesh, over all of its connections. */
export interface MemberState extends ConnectedMachine {
  readonly enter: Enter | null;
  readonly entered: Entered | null;
  readonly ready: Ready | null;
  /** Whether the server of this connection knows `ready`: a peer in a group reports it after the group has ended. */
  readonly saidReady: boolean;
  readonly inHand: MemberWork;
  readonly evaluation: AssignedEvaluation;
  /** Whether the peers agreed on the work in hand without the server, which then learns nothing of it. */
  readonly byPeers: boolean;
  /** The certificate in the last `enter`, and whether the server may not have seen how the last group ended. */
  readonly shown: Certificate | null;
  readonly unseen: boolean;
  readonly finished: boolean;
  /** The numbers of groups that ended with a result for this peer, and without. */
  readonly averaged: number;
  readonly failed: number;
}

export const INITIAL: MemberState = {
  connection: NO_CONNECTION,
  enter: null,
  entered: null,
  ready: null,
  saidReady: false,
  inHand: NO_WORK,
  evaluation: NO_EVALUATION,
  byPeers: false,
  shown: null,
  unseen: false,
  finished: false,
  averaged: 0,
  failed: 0,
  reason: null,
};

type MemberStep = Step<MemberState, MemberEffect>;
const { step, chain } = reducer<MemberState, MemberEffect>();

export function phase(state: MemberState): MeshPhase {
  const without = disconnectedPhase(state.connection);
  // Work that the peers agreed on continues without the server.
  const works = state.byPeers && (isWork(state.inHand) || isMeasuring(state.evaluation));
  return without === null || (without !== "stopped" && works) ? connectedPhase(state) : without;
}

/** Returns the phase of a connected peer, and of one that works without the server. */
export function connectedPhase(state: MemberState): MeshPhase {
  if (state.ready === null) return "loading";
  if (state.finished) return "finished";
  if (state.inHand.group !== null) return "averaging";
  if (isWork(state.inHand)) return state.inHand.trained ? "trained" : "training";
  return isMeasuring(state.evaluation) ? "evaluating" : "waiting";
}

/**
 * Returns the state after one event, and the host's effects. An event that is illegal in this phase changes nothing.
 */
export const handle = legalOnly(LEGAL_PHASES, phase, apply);

function apply(state: MemberState, event: MemberEvent): MemberStep {
  switch (event.type) {
    case "start":
      return start(state, { enter: event.enter, finished: false, byPeers: false });
    case "connected":
      return connected(state);
    case "frame":
      return frame(state, event.frame);
    case "agreed":
      return agreed(state, event.frame);
    case "loaded":
      return loaded(state, { ...event, type: "ready" });
    case "trained":
      return trained(state, event);
    case "averaged":
      return averaged(state, event);
    case "failed":
      return failed(state, event);
    case "certified":
      return certified(state, event.certificate);
    case "measured":
      return finishEvaluation(state, event);
    case "disconnected":
      // Training and averaging continue: neither needs the server.
      return loseConnection(state, event.random, { saidReady: false });
    case "stop":
      return chain(state, leave, forgetAll);
  }
}

function connected(state: MemberState): MemberStep {
  const enter = state.enter && { ...state.enter, backend: state.ready?.backend ?? state.enter.backend };
  return greet(state, enter, { enter, shown: enter?.certificate ?? null });
}

function loaded(state: MemberState, ready: Ready): MemberStep {
  if (state.entered === null || state.ready !== null) return step(state);
  return sayReady({ ...state, ready });
}

/**
 * Whether the peer never follows an order of the peers for this group: it has the server, and is not in it. The server
 * may use that round's number, too; its groups have other numbers.
 */
export function declines({ connection, inHand }: MemberState, round: number, group: number): boolean {
  const isInGroup = inHand.group?.round === round && inHand.group.group === group;
  return group >= FIRST_SERVERLESS_GROUP && connection.state === "open" && !isInGroup;
}

function trained(state: MemberState, event: Extract<MemberEvent, { type: "trained" }>): MemberStep {
  const report = trainedReport(state.inHand, event);
  if (report === null) return step(state);
  const enter = state.enter && withFetchedWeights(state.enter, report);
  return sendWhenOpen({ ...state, inHand: { ...state.inHand, trained: report }, enter }, report);
}

function averaged(state: MemberState, event: GroupAveraged): MemberStep {
  if (!endsGroup(state.inHand, event)) return step(state);
  const enter = state.enter && withAveragedWeights(state.enter, event);
  return reported({ ...state, averaged: state.averaged + 1, enter }, event);
}

function failed(state: MemberState, event: GroupFailed): MemberStep {
  if (!endsGroup(state.inHand, event)) return step(state);
  return reported({ ...state, failed: state.failed + 1, reason: event.reason }, event);
}

function reported(state: MemberState, report: GroupAveraged | GroupFailed): MemberStep {
  const byPeers = state.byPeers && state.connection.state !== "open";
  return chain(
    { ...state, inHand: { ...state.inHand, group: null, report }, byPeers },
    // The order matters: from the report the server knows this peer's weights before it makes new plans.
    (current) => sendWhenOpen(current, report),
    (current) => (current.saidReady ? step(current) : sayReady(current)),
  );
}

function certified(state: MemberState, certificate: Certificate): MemberStep {
  const next = state.enter ? { ...state, enter: withCertificate(state.enter, certificate) } : state;
  return state.unseen ? showCertificate(next) : step(next);
}

/** Shows the server the certificate that `enter` did not have. */
function showCertificate(state: MemberState): MemberStep {
  const { certificate, chain } = state.enter ?? { certificate: null, chain: [] };
  if (certificate === null || certificate === state.shown || state.connection.state !== "open")
    return step(state);
  return sendWhenOpen({ ...state, shown: certificate }, { type: "certified", certificate, chain });
}

function sayReady(state: MemberState): MemberStep {
  if (state.ready === null || state.connection.state !== "open") return step(state);
  return sendWhenOpen({ ...state, saidReady: true }, state.ready);
}

function frame(state: MemberState, message: ServerToPeer): MemberStep {
  if (!expects(state.connection, message.type, "entered")) return step(state);
  switch (message.type) {
    case "closing":
      return dismiss(state, message, forgetAll);
    case "entered":
      return entered(state, message);
    case "train":
      return train(state, message);
    case "group":
      return group(state, message);
    case "deposit":
      return step(state, { type: "deposit", weights: message.weights });
    case "evaluate":
      return evaluate(state, message);
    case "version":
      return chain(
        state,
        (current) => forgetEvaluation(current, message.version - 1),
        (current) => over(current, message.round),
      );
    case "abandoned":
      return over(state, message.round);
    case "evaluated":
      return message.source === "clients" ? forgetEvaluation(state, message.version) : step(state);
    case "state": {
      const finished = message.phase === "finished";
      return chain(
        { ...state, finished },
        (current) => forgetEvaluation(current, message.version - 1),
        (current) => (finished ? forgetAll(current) : over(current, message.round - 1)),
      );
    }
    case "members":
    case "signalled":
    case "relayed":
    case "unreachable":
      // The host's links handle these frames.
      return step(state);
  }
}

/** Takes an agreement of the peers in place of the server's frame; ignores it while the server is connected. */
function agreed(state: MemberState, message: Agreement): MemberStep {
  const { state: link } = state.connection;
  const alone = link === "lost" || link === "greeted";
  if (!alone || state.ready === null || state.finished) return step(state);
  const next = { ...state, byPeers: true };
  switch (message.type) {
    case "train":
      return train(next, message);
    case "group":
      return group(next, message);
    case "evaluate":
      return evaluate(next, message);
  }
}

/** Ends work that the server did not order and that is not in a group, since the server is back. */
function forgetAgreed(state: MemberState): MemberStep {
  if (!state.byPeers) return step(state);
  const next = { ...state, byPeers: false };
  return chain(
    next,
    (current) => (current.inHand.report === null ? forgetRound(current) : step(current)),
    (current) => forgetEvaluation(current),
  );
}

function entered(state: MemberState, message: Entered): MemberStep {
  const open = openConnection({ ...state, entered: message, unseen: true });
  if (state.entered?.bundle !== message.bundle || state.entered.run !== message.run) {
    // This is the first session, or the task was restarted from zero during an absence, perhaps with another model.
    const enter = open.enter && withoutForeign(open.enter, message.bundle, message.run);
    const forgotten = forgetAll({ ...open, enter, ready: null, byPeers: false });
    return step(forgotten.state, ...forgotten.effects, { type: "load", bundle: message.bundle });
  }
  if (open.ready === null || open.inHand.group !== null) return step(open);
  const saying = (...frames: (PeerToServer | null)[]) =>
    frames.filter((one) => one !== null).map((one) => (current: MemberState) => sendWhenOpen(current, one));
  const { state: resumed, effects } = forgetAgreed(open);
  const { report, trained } = resumed.inHand;
  const waiting = report === null ? trained : null;
  const greeted = chain(
    resumed,
    showCertificate,
    ...saying(report),
    sayReady,
    ...saying(waiting, resumed.evaluation.result),
  );
  return step(greeted.state, ...effects, ...greeted.effects);
}

function train(state: MemberState, plan: Train): MemberStep {
  if (state.ready === null) return step(state);
  const { trained, group } = state.inHand;
  if (repeats(state.inHand, plan)) {
    // The server repeats the plan after a reconnection; the peer is already working on it. A restarted server opens
    // the round only now, and has ignored what the peer sent on entering.
    return trained && group === null ? sendWhenOpen(state, trained) : step(state);
  }
  const begun = { inHand: { ...NO_WORK, plan }, finished: false };
  return chain(state, forgetAll, (current) => step({ ...current, ...begun }, { type: "train", plan }));
}

/** Takes an order once, after training in its round, and only for a group with this peer. */
function group(state: MemberState, order: GroupOrder): MemberStep {
  const { entered } = state;
  if (!acceptsOrder(state.inHand, order)) return step(state);
  if (entered === null || !order.members.includes(entered.client)) return step(state);
  const inHand = { ...state.inHand, group: order };
  return step({ ...state, inHand, unseen: state.byPeers }, { type: "average", group: order });
}

/** Begins an evaluation, unless the peer trains or averages: these have priority, and the order gets no answer. */
function evaluate(state: MemberState, order: Evaluate): MemberStep {
  if (state.ready === null || (state.inHand.plan !== null && state.inHand.report === null))
    return step(state);
  return beginEvaluation(state, order);
}

/**
 * Takes the server's end of the round and of all before it. A group in progress runs to its own end. A peer that was
 * in no group reports again that it is ready.
 */
function over(state: MemberState, round: number): MemberStep {
  const { plan, group, report } = state.inHand;
  if (plan === null || plan.round > round || group !== null) return step(state);
  const late = report === null;
  return chain(state, forgetRound, (current) => (late ? sayReady(current) : step(current)));
}

function forgetRound(state: MemberState): MemberStep {
  return step({ ...state, inHand: NO_WORK }, ...abortEffects(state.inHand));
}

function forgetAll(state: MemberState): MemberStep {
  return chain(state, forgetRound, (current) => forgetEvaluation(current));
}
