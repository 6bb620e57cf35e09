/** What the host of a peer tells the machine of rounds without the server, and what that asks of it. */

import type { Evaluation } from "../../rounds/participant-events";
import type { Certificate, GroupOrder, ServerlessFrame, ServerToPeer } from "../../wire/mesh";
import type { Agreement, PlanTrained } from "../member-events";

/** What the host tells the machine. */
export type Event =
  /** The server answered `enter`: it decides from now on. */
  | { readonly type: "reached" }
  /** The connection to the server is lost; `busy` while this peer trains or averages. */
  | { readonly type: "deserted"; readonly busy: boolean }
  /** The server said something. */
  | { readonly type: "told"; readonly frame: ServerToPeer }
  /** There is a link to `client`, or it is heard of again. */
  | { readonly type: "linked"; readonly client: string }
  /** The last link to `client` is gone. */
  | { readonly type: "lost"; readonly client: string }
  /** `client` said something. */
  | { readonly type: "heard"; readonly client: string; readonly frame: ServerlessFrame }
  /** This peer's training is done, by the server's plan or by one of the peers. */
  | { readonly type: "trained"; readonly report: PlanTrained }
  /** This peer's group `order` ended with `weights`. */
  | { readonly type: "averaged"; readonly order: GroupOrder; readonly weights: string }
  /** This peer's group has no result for it. */
  | { readonly type: "failed" }
  /** More than half of the survivors signed the weights of `certificate`. */
  | { readonly type: "certified"; readonly certificate: Certificate }
  /** This peer measured what an `agree` with `evaluate` asked for. */
  | { readonly type: "measured"; readonly report: Evaluation }
  /** The clock reached `timer()`. */
  | { readonly type: "time_passed" };

/** What the machine asks of the host, in order. */
export type Effect =
  /** Send one frame to each of `clients`. */
  | { readonly type: "say"; readonly clients: readonly string[]; readonly frame: ServerlessFrame }
  /** Hand this to the member's machine: it stands for what the server would have said. */
  | { readonly type: "agree"; readonly frame: Agreement }
  /** The server is there for another peer: try at once to reach it. */
  | { readonly type: "hasten" };
