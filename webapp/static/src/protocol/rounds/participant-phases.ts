/** The phases of a participant, and its table of transitions: the phases in which each event is legal. */

import type { LegalPhases } from "../client/reducer";
import type { ParticipantEvent } from "./participant-events";

/** What the participant does; its page explains each word. */
export type ParticipantPhase =
  | "stopped"
  | "connecting"
  | "offline"
  | "loading"
  | "waiting"
  | "training"
  | "uploading"
  | "evaluating"
  | "finished";

const OPEN = ["loading", "waiting", "training", "uploading", "evaluating", "finished"] as const;
const STARTED = ["connecting", "offline", ...OPEN] as const;

/** A model that is loaded after the session ended serves the next session. */
export const LEGAL_PHASES: LegalPhases<ParticipantEvent, ParticipantPhase> = {
  start: ["stopped"],
  connected: ["connecting", "offline"],
  frame: ["connecting", ...OPEN],
  loaded: ["stopped", "connecting", "offline", "loading"],
  trained: ["connecting", "offline", "training"],
  // The last version may be evaluated after the end.
  measured: ["connecting", "offline", "uploading", "evaluating", "finished"],
  disconnected: STARTED,
  stop: STARTED,
};
