/**
 * A client's connection to its task's server, over all attempts, without I/O; part of every client's machine. The
 * twin is backend/protocols/client/connection.py.
 *
 * A function that takes a machine's state returns it unchanged if the event is illegal; if it is legal, `change` is
 * applied to the state, too.
 */

import type { FrameOf } from "../wire/messages";
import { chain, type Step, step } from "./reducer";

const FIRST_DELAY = 0.5;
const LONGEST_DELAY = 30;
// After this number of failed attempts the delay no longer grows.
const MOST_ATTEMPTS = 10;
// A client that the server dismissed waits as if this number of attempts had failed, so that it stays within the
// server's rate limits.
const DISMISSED_ATTEMPTS = 4;
// After these codes a client reconnects only when it is started again.
const FINAL = ["replaced", "unfit", "not-exact", "removed", "banned", "banned-by-members", "closed"];

/**
 * The connection: closed by choice, lost until the next attempt succeeds, opening, greeted until the answer, then
 * open.
 */
export type ConnectionState = "closed" | "lost" | "opening" | "greeted" | "open";

export interface TaskConnection {
  readonly state: ConnectionState;
  readonly attempts: number;
  /** Why the server closed the connection, until it is open again. */
  readonly dismissal: string | null;
}

export const NO_CONNECTION: TaskConnection = { state: "closed", attempts: 0, dismissal: null };

/** The state of a machine with a connection. */
export interface ConnectedMachine {
  readonly connection: TaskConnection;
  /** The last refusal or closing, for people. */
  readonly reason: string | null;
}

/** Events by which every host reports on the connection. */
export type ConnectionEvent =
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

/** Effects by which every machine controls the connection. */
export type ConnectionEffect<Frame> = Connect | Send<Frame> | Close;

/** Returns the phase of a client without an open connection; null if it is open. */
export function disconnectedPhase({
  state: connectionState,
}: TaskConnection): "stopped" | "offline" | "connecting" | null {
  switch (connectionState) {
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
  if (state.connection.state !== "closed") return step(state);
  const connection: TaskConnection = { ...NO_CONNECTION, state: "opening" };
  return step({ ...state, ...change, connection, reason: null }, { type: "connect", delay: 0 });
}

/** Sends `greeting` as the first frame of a connection; null if the client was not started. */
export function greet<S extends ConnectedMachine, Frame>(
  state: S,
  greeting: Frame | null,
  change: Partial<S> = {},
): Step<S, Send<Frame>> {
  const { connection } = state;
  if (greeting === null || (connection.state !== "opening" && connection.state !== "lost"))
    return step(state);
  const next: TaskConnection = { ...connection, state: "greeted" };
  return step({ ...state, ...change, connection: next }, { type: "send", frame: greeting });
}

/** Returns the state after the server answered the greeting. */
export function openConnection<S extends ConnectedMachine>(state: S): S {
  return { ...state, connection: { ...NO_CONNECTION, state: "open" } };
}

export function loseConnection<S extends ConnectedMachine>(
  state: S,
  random: number,
  change: Partial<S> = {},
): Step<S, Connect> {
  const { connection } = state;
  if (connection.state === "closed") return step(state);
  const delay = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** connection.attempts) * (0.5 + random);
  const attempts = Math.min(connection.attempts + 1, MOST_ATTEMPTS);
  const lost: TaskConnection = { ...connection, state: "lost", attempts };
  return step({ ...state, ...change, connection: lost }, { type: "connect", delay });
}

/**
 * Whether the server may send a frame of this type now: before its `answer` to the greeting only that and `closing`,
 * after it everything but the answer.
 */
export function expects(
  { state: connectionState }: TaskConnection,
  type: string,
  answer: "welcome" | "entered" | "enlisted",
): boolean {
  if (type === "closing") return connectionState === "greeted" || connectionState === "open";
  return connectionState === (type === answer ? "greeted" : "open");
}

/** Takes the server's `closing`. After a final code the client closes the connection and applies `forget`. */
export function dismiss<S extends ConnectedMachine, Effect>(
  state: S,
  { code, reason }: FrameOf<"closing">,
  forget: (state: S) => Step<S, Effect>,
): Step<S, Close | Effect> {
  const { connection } = state;
  if (FINAL.includes(code)) return breakConnection(state, reason, forget);
  const minimum = code === "idle" ? 0 : DISMISSED_ATTEMPTS;
  const attempts = Math.max(connection.attempts, minimum);
  return step({ ...state, reason, connection: { ...connection, attempts, dismissal: reason } });
}

/** Closes the connection for `reason`, and then applies `forget`. */
export function breakConnection<S extends ConnectedMachine, Effect>(
  state: S,
  reason: string,
  forget: (state: S) => Step<S, Effect>,
): Step<S, Close | Effect> {
  return chain<S, Close | Effect>({ ...state, reason }, (current) => close(current), forget);
}

/** Leaves the server by choice. */
export function leave<S extends ConnectedMachine>(
  state: S,
): Step<S, Close | Send<{ readonly type: "leave" }>> {
  if (state.connection.state === "closed") return step(state);
  return chain<S, Close | Send<{ readonly type: "leave" }>>(
    state,
    (current) => sendWhenOpen(current, { type: "leave" }),
    (current) => close(current),
  );
}

/** Sends the frame if the connection is open. Machines repeat what is still valid after the next greeting. */
export function sendWhenOpen<S extends ConnectedMachine, Frame>(
  state: S,
  frame: Frame,
): Step<S, Send<Frame>> {
  return state.connection.state === "open" ? step(state, { type: "send", frame }) : step(state);
}

function close<S extends ConnectedMachine>(state: S): Step<S, Close> {
  return step({ ...state, connection: { ...state.connection, state: "closed" } }, { type: "close" });
}
