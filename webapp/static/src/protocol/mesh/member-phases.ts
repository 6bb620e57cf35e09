/** The phases of a mesh peer, and its table of transitions: the phases in which each event is legal. */

import type { LegalPhases } from "../client/reducer";
import type { MemberEvent } from "./member-events";

/** What the peer does; its page explains each word. */
export type MeshPhase =
  | "stopped"
  | "connecting"
  | "offline"
  | "loading"
  | "waiting"
  | "training"
  | "trained"
  | "averaging"
  | "evaluating"
  | "finished";

/** Phases that also occur without the server, in rounds that the peers agreed on. */
const AT_WORK = ["training", "trained", "averaging", "evaluating"] as const;
const STARTED = ["connecting", "offline", "loading", "waiting", ...AT_WORK, "finished"] as const;

/** A model that is loaded, and weights that are certified, after the session ended serve the next session. */
export const LEGAL_PHASES: LegalPhases<MemberEvent, MeshPhase> = {
  start: ["stopped"],
  connected: ["connecting", "offline", ...AT_WORK, "finished"],
  frame: ["connecting", "loading", "waiting", ...AT_WORK, "finished"],
  agreed: ["connecting", "offline", ...AT_WORK],
  loaded: ["stopped", "connecting", "offline", "loading"],
  trained: ["connecting", "offline", "training"],
  averaged: ["connecting", "offline", "averaging"],
  failed: ["connecting", "offline", "averaging"],
  certified: ["stopped", ...STARTED],
  // The last version may be evaluated after the end.
  measured: ["connecting", "offline", "evaluating", "finished"],
  disconnected: STARTED,
  stop: STARTED,
};
