/**
 * A client's contact with its server, without I/O, over as many connections as it takes: what the machines of all clients
 * own. `backend/protocols/client/connection.py` is its mirror.
 *
 * A function that takes a machine's state changes nothing where the event makes no sense now; `change` is what else it
 * changes in that state where it does.
 */

import type { FrameOf } from "../wire/messages";
import { chain, type Step, step } from "./reducer";

const FIRST_DELAY = 0.5;
const LONGEST_DELAY = 30;
// Beyond so many failed attempts the delay no longer grows.
const MOST_ATTEMPTS = 10;
// Whom the server sent away comes back as if so many attempts had failed: not within its limits' seconds.
const DISMISSED_ATTEMPTS = 4;
// After these a client stays away until somebody asks for it anew.
const FINAL = ["replaced", "unfit", "removed", "banned", "closed"];

/** The connection: closed by choice, lost until the next attempt, opening, greeted until the answer, then open. */
export type ConnectionState = "closed" | "lost" | "opening" | "greeted" | "open";

export interface Contact {
  readonly link: ConnectionState;
  readonly attempts: number;
  /** Why the server closed the connection, until it is open again. */
  readonly dismissal: string | null;
}

export const NO_CONTACT: Contact = { link: "closed", attempts: 0, dismissal: null };

/** The state of a machine that has a contact. */
export interface ConnectedMachine {
  readonly contact: Contact;
  /** The last refusal or closing, for people. */
  readonly reason: string | null;
}

/** What every host tells its machine of the connection. */
export type ContactEvent =
  /** The socket is open. */
  | { readonly type: "connected" }
  /** The socket closed or could not be opened; `random` in [0, 1) spreads the attempts of many clients. */
  | { readonly type: "disconnected"; readonly random: number }
  | { readonly type: "stop" };

/** Open the socket after `delay` seconds; then report `connected` or `disconnected`. */
export interface Connect {
  readonly type: "connect";
  readonly delay: number;
}

export interface Send<Frame> {
  readonly type: "send";
  readonly frame: Frame;
}

/** Close the socket, or forget the attempt to open it. */
interface Close {
  readonly type: "close";
}

/** What every machine asks of its host for the connection. */
export type ContactEffect<Frame> = Connect | Send<Frame> | Close;

/** What a client does that has no open connection; null where it has one. */
export function disconnectedPhase({ link }: Contact): "stopped" | "offline" | "connecting" | null {
  switch (link) {
    case "closed":
      return "stopped";
    case "lost":
      return "offline";
    case "opening":
    case "greeted":
      return "connecting";
    case "open":
      return null;
  }
}

export function start<S extends ConnectedMachine>(state: S, change: Partial<S>): Step<S, Connect> {
  if (state.contact.link !== "closed") return step(state);
  const contact: Contact = { ...NO_CONTACT, link: "opening" };
  return step({ ...state, ...change, contact, reason: null }, { type: "connect", delay: 0 });
}

/** The first frame of a connection is `greeting`; who was not started has none. */
export function greet<S extends ConnectedMachine, Frame>(
  state: S,
  greeting: Frame | null,
  change: Partial<S> = {},
): Step<S, Send<Frame>> {
  const { contact } = state;
  if (greeting === null || (contact.link !== "opening" && contact.link !== "lost")) return step(state);
  const next: Contact = { ...contact, link: "greeted" };
  return step({ ...state, ...change, contact: next }, { type: "send", frame: greeting });
}

/** The server answered the greeting. */
export function openConnection<S extends ConnectedMachine>(state: S): S {
  return { ...state, contact: { ...NO_CONTACT, link: "open" } };
}

export function loseConnection<S extends ConnectedMachine>(
  state: S,
  random: number,
  change: Partial<S> = {},
): Step<S, Connect> {
  const { contact } = state;
  if (contact.link === "closed") return step(state);
  const delay = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** contact.attempts) * (0.5 + random);
  const attempts = Math.min(contact.attempts + 1, MOST_ATTEMPTS);
  const lost: Contact = { ...contact, link: "lost", attempts };
  return step({ ...state, ...change, contact: lost }, { type: "connect", delay });
}

/**
 * Whether the server may say a frame of this type now: before its `answer` to the greeting only that and `closing`, after it
 * everything but the answer.
 */
export function expects(
  { link }: Contact,
  type: string,
  answer: "welcome" | "entered" | "enlisted",
): boolean {
  if (type === "closing") return link === "greeted" || link === "open";
  return link === (type === answer ? "greeted" : "open");
}

/** The server closes the connection. Whom it sent away for good does what `forget` does. */
export function dismiss<S extends ConnectedMachine, Effect>(
  state: S,
  { code, reason }: FrameOf<"closing">,
  forget: (state: S) => Step<S, Effect>,
): Step<S, Close | Effect> {
  const { contact } = state;
  if (FINAL.includes(code)) return breakConnection(state, reason, forget);
  const least = code === "idle" ? 0 : DISMISSED_ATTEMPTS;
  const attempts = Math.max(contact.attempts, least);
  return step({ ...state, reason, contact: { ...contact, attempts, dismissal: reason } });
}

/** This client leaves the server for `reason`, and then does what `forget` does. */
export function breakConnection<S extends ConnectedMachine, Effect>(
  state: S,
  reason: string,
  forget: (state: S) => Step<S, Effect>,
): Step<S, Close | Effect> {
  return chain<S, Close | Effect>({ ...state, reason }, (now) => close(now), forget);
}

/** Leaves by choice. */
export function leave<S extends ConnectedMachine>(
  state: S,
): Step<S, Close | Send<{ readonly type: "leave" }>> {
  if (state.contact.link === "closed") return step(state);
  return chain<S, Close | Send<{ readonly type: "leave" }>>(
    state,
    (now) => sendWhenOpen(now, { type: "leave" }),
    (now) => close(now),
  );
}

/** Sends it on an open connection; machines say after the next greeting what still counts then. */
export function sendWhenOpen<S extends ConnectedMachine, Frame>(
  state: S,
  frame: Frame,
): Step<S, Send<Frame>> {
  return state.contact.link === "open" ? step(state, { type: "send", frame }) : step(state);
}

function close<S extends ConnectedMachine>(state: S): Step<S, Close> {
  return step({ ...state, contact: { ...state.contact, link: "closed" } }, { type: "close" });
}
