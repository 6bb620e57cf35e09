/** The phases of a client of work units, and its table of transitions: in which of them each event counts. */

import type { LegalPhases } from "../client/reducer";
import type { UnitClientEvent } from "./unit-client-events";

/**
 * What the client does, in the word that its page explains. `resting`: it holds nothing and wants nothing; `waiting`: the
 * server has nothing for it.
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
/** Units may be in hand; `finished` is the epoch's end, and units may come after it. */
const BUSY = ["connecting", "offline", "fetching", "training", "finished"] as const;

/** A model that is loaded after the visit ended is there for the next one; what is wanted may be said at any time. */
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
