/** The phases of a participant, and its table of transitions: in which of them each event counts. */

import type { LegalPhases } from "../client/reducer";
import type { ParticipantEvent } from "./participant-events";

/** What the participant does, in the word that the page explains. */
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

/** A model that is loaded after the visit ended is there for the next one. */
export const LEGAL_PHASES: LegalPhases<ParticipantEvent, ParticipantPhase> = {
  start: ["stopped"],
  connected: ["connecting", "offline"],
  frame: ["connecting", ...OPEN],
  loaded: ["stopped", "connecting", "offline", "loading"],
  trained: ["connecting", "offline", "training"],
  // The last version may be measured after the end.
  measured: ["connecting", "offline", "uploading", "evaluating", "finished"],
  disconnected: STARTED,
  stop: STARTED,
};
