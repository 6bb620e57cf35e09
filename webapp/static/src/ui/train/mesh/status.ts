/** Describes in words what this device does in a mesh. Pure: everything shown is an argument. */

import type { MeshView } from "../../../client/mesh/view";
import { say } from "../../../i18n";
import { seconds } from "../../../i18n/formatting";
import { participantName } from "../../../i18n/texts/volunteers/participant-names";
import { connectedPhase, phase } from "../../../protocol/mesh/member";
import type { MeshPhase } from "../../../protocol/mesh/member-phases";
import {
  invitationWords,
  loadingWords,
  MEASURING,
  missingWords,
  PAUSED,
  retryHint,
  roundStepWords,
  type Status,
  type StatusWords,
  statusIn,
  stoppedWords,
  TRAINED,
} from "../texts";
import { checkingWords, membershipWords } from "./membership";

const card = say.card;
const mesh = say.mesh;

/**
 * `now` as in `performance.now()`; `own` counts the volunteer's own examples, null if the task provides them; a round
 * begins with `least` participants, 0 if the page does not know.
 */
export function meshStatus(view: MeshView, now: number, own: number | null = null, least = 0): Status {
  const { machine, progress } = view;
  const current = phase(machine);
  const busy = machine.inHand.plan !== null && machine.inHand.trained === null;
  const [line, hint, spoken = line] = words(current, view, now, own, least);
  const place = current === "stopped" || view.byzantine === null ? "" : membershipWords(view.byzantine);
  const sentences = [hint, measured(view), place].filter(Boolean).join(" ");
  return statusIn(current, [line, sentences, spoken], busy ? progress : null);
}

function words(
  current: MeshPhase,
  view: MeshView,
  now: number,
  own: number | null,
  least: number,
): StatusWords {
  switch (current) {
    case "stopped":
      return atRest(view, own);
    case "connecting":
      return [card.connecting, mesh.lookingForServer];
    case "offline":
      return offline(view, now);
    case "loading":
      return loadingWords(view.problem);
    case "waiting":
      return waiting(view, least);
    case "training":
      return training(view);
    case "trained":
      return [mesh.trained, (view.machine.byPeers ? mesh.leaderSays : mesh.serverSays)(round(view))];
    case "averaging":
      return averaging(view);
    case "evaluating":
      return MEASURING;
    case "finished":
      return TRAINED;
  }
}

function atRest(view: MeshView, own: number | null): StatusWords {
  const { enter, averaged: rounds } = view.machine;
  const thanks: StatusWords | null = rounds > 0 ? [card.thanks, mesh.averagedIn(rounds)] : null;
  return stoppedWords(view, invitationWords(enter !== null, own), thanks);
}

function offline(view: MeshView, now: number): StatusWords {
  const { retryAt, machine, links } = view;
  const line = retryAt === null ? mesh.awayNow : mesh.awayIn(seconds((retryAt - now) / 1000));
  const standing = links.filter(({ way }) => way === "webrtc").length;
  let hint = machine.connection.dismissal ?? mesh.goesOn;
  if (connectedPhase(machine) === "averaging") hint = mesh.groupGoesOn(standing);
  else if (connectedPhase(machine) === "training") hint = mesh.trainsOn;
  else if (waitingForPeers(view) > 0) hint = mesh.peersGoOn(waitingForPeers(view));
  else if (standing > 0) hint = mesh.linksStand(standing);
  return [line, hint, mesh.away];
}

/**
 * Returns the number of peers with which this device continues without the server; 0 if none can lead, which browsers
 * cannot.
 */
function waitingForPeers({ serverless, members }: MeshView): number {
  const others = serverless?.peers ?? [];
  const leaders = members.filter(({ client, kind }) => kind === "peer" && others.includes(client));
  return leaders.length > 0 ? others.length : 0;
}

/** Returns the sentence on a peer's evaluation while the server is away; empty without one. */
function measured({ machine, serverless }: MeshView): string {
  const finding = serverless?.finding ?? null;
  if (finding === null || machine.connection.state === "open" || machine.connection.state === "closed")
    return "";
  const { client, evaluation } = finding;
  const isOwn = client === machine.entered?.client;
  const who = isOwn ? mesh.yourDevice : mesh.participant(participantName(client));
  return mesh.measured(who, evaluation.round, evaluation.loss, evaluation.examples);
}

function waiting(view: MeshView, least: number): StatusWords {
  const { task, group } = view;
  const last = group && outcome(view);
  if (!task) return [card.nextRound, last ?? card.inFromNext];
  if (task.phase === "paused") return PAUSED;
  if (task.phase === "waiting" && task.needed > 0) return missingWords(task.needed, least);
  if (task.phase === "training") return [card.nextRound, last ?? mesh.withoutYou(task.round)];
  return [card.nextRound, last ?? card.opensSoon];
}

/** Returns the sentence on the outcome of the last group. */
function outcome({ group }: MeshView): string | null {
  if (group === null) return null;
  const { order, outcome: made, reason } = group;
  if (made === null) return reason === null ? null : mesh.noResult(say.message(reason));
  const others = made.holders - 1;
  // The first signature comes within milliseconds. Who is no survivor collects none.
  if (others <= 0) return null;
  return made.fraction < 0.9995
    ? mesh.sameWeightsOf(order.round, others, made.fraction)
    : mesh.sameWeights(order.round, others);
}

function round({ machine }: MeshView): string {
  const { plan } = machine.inHand;
  const name = plan ? card.round(plan.round) : card.noRound;
  return machine.byPeers ? mesh.withoutServer(name) : name;
}

function training(view: MeshView): StatusWords {
  const { progress, byzantine } = view;
  const name = round(view);
  const checking = byzantine && checkingWords(byzantine, name);
  if (checking) return checking;
  if (!progress) return [mesh.fetching, retryHint(view.problem) ?? `${name}.`, card.training];
  const [line, hint, spoken = line] = roundStepWords(progress, view.machine.inHand.plan?.round ?? 0);
  return [line, view.machine.byPeers ? `${name}. ${hint}` : hint, spoken];
}

function averaging(view: MeshView): StatusWords {
  const { machine, links } = view;
  const { members = [] } = machine.inHand.group ?? {};
  const line = mesh.averaging(members.length - 1);
  if (machine.byPeers) return [line, `${round(view)}.`];
  const relayed = links.filter(({ client, way }) => members.includes(client) && way === "relay").length;
  return [line, relayed === 0 ? mesh.deviceToDevice : mesh.sealed(relayed)];
}
