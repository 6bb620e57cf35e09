/** The phases of a peer of a mesh, and its table of transitions: in which of them each event counts. */

import type { LegalPhases } from "../client/reducer";
import type { MemberEvent } from "./member-events";

/** What the peer does, in the word that its page explains. */
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

/** Also without the server, by what the peers agreed on. */
const AT_WORK = ["training", "trained", "averaging", "evaluating"] as const;
const STARTED = ["connecting", "offline", "loading", "waiting", ...AT_WORK, "finished"] as const;

/** A model that is loaded, and weights that are certified, after the visit ended are there for the next one. */
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
  // The last version may be measured after the end.
  measured: ["connecting", "offline", "evaluating", "finished"],
  disconnected: STARTED,
  stop: STARTED,
};
