/** The phases of a work-unit client, and its table of transitions: the phases in which each event is legal. */

import type { LegalPhases } from "../client/reducer";
import type { UnitClientEvent } from "./unit-client-events";

/**
 * What the client does; its page explains each word. `resting`: it holds no unit and has no slots; `waiting`: the
 * server has no unit for it.
 */
export type UnitClientPhase =
  | "stopped"
  | "connecting"
  | "offline"
  | "loading"
  | "waiting"
  | "resting"
  | "fetching"
  | "training"
  | "uploading"
  | "finished";

const OPEN = ["loading", "waiting", "resting", "fetching", "training", "uploading", "finished"] as const;
const STARTED = ["connecting", "offline", ...OPEN] as const;
/** Phases with units in hand; after `finished`, the end of an epoch, more units may come. */
const BUSY = ["connecting", "offline", "fetching", "training", "finished"] as const;

/** A model that is loaded after the session ended serves the next session; slots may be changed at any time. */
export const LEGAL_PHASES: LegalPhases<UnitClientEvent, UnitClientPhase> = {
  start: ["stopped"],
  connected: ["connecting", "offline"],
  frame: ["connecting", ...OPEN],
  loaded: ["stopped", "connecting", "offline", "loading"],
  want: ["stopped", ...STARTED],
  fetched: BUSY,
  trained: ["connecting", "offline", "training", "finished"],
  failed: BUSY,
  pulse: ["fetching", "training", "uploading", "finished"],
  give_back: ["stopped", ...STARTED],
  wind_down: ["stopped", ...STARTED],
  disconnected: STARTED,
  stop: STARTED,
};
