/**
 * Stages of rounds without the server, and the events and effects of their machine. The twin is
 * backend/protocols/mesh/serverless/serverless_events.py.
 */

import type { Evaluation } from "../../client/evaluation";
import type { Certificate, GroupOrder, ServerlessFrame, ServerToPeer } from "../../wire/mesh";
import type { Agreement, PlanTrained } from "../member-events";

export type ServerlessStage = "attended" | "calling" | "measuring" | "training" | "trained" | "averaging";

/** The table of transitions. A stage may follow itself: a calling peer may call again. */
export const TRANSITIONS: Readonly<Record<ServerlessStage, ReadonlySet<ServerlessStage>>> = {
  attended: new Set(["calling"]),
  calling: new Set(["attended", "measuring", "training"]),
  measuring: new Set(["attended", "calling", "training"]),
  training: new Set(["attended", "calling", "trained"]),
  trained: new Set(["attended", "calling", "averaging"]),
  averaging: new Set(["attended", "calling"]),
};

/** An event that the host reports to the machine. */
export type Event =
  /** The server answered `enter`: it orders the rounds from now on. `run` names the run of the task. */
  | { readonly type: "reached"; readonly run: string }
  /** The connection to the server is lost; `busy` while this peer trains or averages. */
  | { readonly type: "deserted"; readonly busy: boolean }
  /** A frame of the server arrived. */
  | { readonly type: "told"; readonly frame: ServerToPeer }
  /** There is a link to `client`, or it sends again after silence. */
  | { readonly type: "linked"; readonly client: string }
  /** The last link to `client` is down. */
  | { readonly type: "lost"; readonly client: string }
  /** A frame of `client` arrived. */
  | { readonly type: "heard"; readonly client: string; readonly frame: ServerlessFrame }
  /** This peer's training is done, by a plan of the server or of the peers. */
  | { readonly type: "trained"; readonly report: PlanTrained }
  /** This peer's group `order` ended with `weights`. */
  | { readonly type: "averaged"; readonly order: GroupOrder; readonly weights: string }
  /** This peer's group has no result for it. */
  | { readonly type: "failed" }
  /** More than half of the survivors signed the weights of `certificate`. */
  | { readonly type: "certified"; readonly certificate: Certificate }
  /** This peer has evaluated what an `agree` with `evaluate` asked for. */
  | { readonly type: "measured"; readonly report: Evaluation }
  /** The clock reached `timer()`. */
  | { readonly type: "time_passed" };

/** An effect that the machine asks of the host. Effects are performed in order. */
export type Effect =
  /** Send one frame to each of `clients`. */
  | { readonly type: "say"; readonly clients: readonly string[]; readonly frame: ServerlessFrame }
  /** Give this frame to the member's machine: peers agreed on it in place of the server. */
  | { readonly type: "agree"; readonly frame: Agreement }
  /** Another peer has the server: try immediately to reach it. */
  | { readonly type: "hasten" };
