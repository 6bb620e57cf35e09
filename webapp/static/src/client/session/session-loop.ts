/**
 * The loop of every session: keeps one client connected to the server of its task. Owns the machine's state, the
 * connection and its retries, the session's worker, and the view's data. The session performs the effects specific to
 * its scheme.
 */

import { say } from "../../i18n";
import type { Connect, ConnectedMachine, ConnectionEvent, Send } from "../../protocol/client/connection";
import type { Step } from "../../protocol/client/reducer";
import type { Transport } from "../transports/socket";
import type { LoadedWorker, RecoveryListener, Trainer, TrainingProgress } from "../workers/training-worker";
import type { LocalMetrics } from "./local-metrics";
import { SessionTrainer } from "./session-trainer";

/** The options that every page gives its session. */
export interface SessionLoopOptions<Received> {
  readonly transport: Transport;
  /** Makes the worker of one session; called on start. */
  readonly trainer: (recovered: RecoveryListener) => Trainer;
  readonly origin: string;
  readonly token: string;
  readonly agent: string;
  /** The program that computes the same bits everywhere, as the server that made this page calls it. */
  readonly program: string | null;
  /** Data that `view` returns have changed. */
  readonly changed: () => void;
  readonly received: (frame: Received) => void;
  readonly progressed: (progress: TrainingProgress) => void;
  /** A training with at least one step ended on this device. */
  readonly learned: (learned: LocalMetrics) => void;
}

/** The view's data that every session has. Times are those of `performance.now()`. */
export interface SessionView {
  /** The progress of the training, once it took a step. */
  readonly progress: TrainingProgress | null;
  /** The loaded model and its backend. */
  readonly loaded: LoadedWorker | null;
  /** Why the training uses another setup than at first. */
  readonly notice: string | null;
  /** The time of the next attempt to connect. */
  readonly retryAt: number | null;
  /** Why the session ended by itself, or why the worker is asked again. */
  readonly problem: string | null;
}

/** The view's data before the first event. */
export const NOTHING_SHOWN: SessionView = {
  progress: null,
  loaded: null,
  notice: null,
  retryAt: null,
  problem: null,
};

/** An effect that the session performs itself; after `close` the loop closes the connection. */
interface SessionEffect {
  readonly type: string;
}

/** The parts that differ from session to session. */
export interface SessionLoopParts<
  State,
  Event,
  Effect extends SessionEffect,
  Sent,
  Received,
  View extends SessionView,
> {
  readonly initial: State;
  readonly shown: View;
  readonly handle: (
    state: State,
    event: Event | ConnectionEvent,
  ) => Step<State, Effect | Connect | Send<Sent>>;
  readonly encode: (frame: Sent) => Uint8Array<ArrayBuffer>;
  /** Throws on invalid frames. */
  readonly decode: (frame: Uint8Array) => Received;
  readonly perform: (effect: Effect) => void;
  /** Takes a frame of the server; it has to dispatch it to the machine. */
  readonly received: (frame: Received) => void;
  /** A connection is being opened. */
  readonly connecting?: () => void;
  /** All effects of `event` were performed; the state before it was `before`. */
  readonly handled?: (event: Event | ConnectionEvent, before: State) => void;
}

export class SessionLoop<
  State extends ConnectedMachine,
  Event,
  Effect extends SessionEffect,
  Sent,
  Received,
  View extends SessionView,
> {
  readonly trainer: SessionTrainer;
  readonly #options: SessionLoopOptions<Received>;
  readonly #parts: SessionLoopParts<State, Event, Effect, Sent, Received, View>;
  #machine: State;
  #shown: View;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    options: SessionLoopOptions<Received>,
    parts: SessionLoopParts<State, Event, Effect, Sent, Received, View>,
  ) {
    this.#options = options;
    this.#parts = parts;
    this.#machine = parts.initial;
    this.#shown = parts.shown;
    this.trainer = new SessionTrainer({
      make: options.trainer,
      origin: options.origin,
      recovered: (notice, loaded) => this.#showSession({ notice, loaded }),
      troubled: (problem) => this.#showSession({ problem }),
      // While the server is away its files are unavailable, which is no fault of this device.
      away: () => !this.isOpen,
      gaveUp: (problem) => this.stop(problem),
    });
  }

  get machine(): State {
    return this.#machine;
  }

  get shown(): View {
    return this.#shown;
  }

  get isOpen(): boolean {
    return this.#machine.connection.state === "open";
  }

  get isClosed(): boolean {
    return this.#machine.connection.state === "closed";
  }

  /** Resets the machine for another session; only `carried` is kept of the last one. */
  reset(carried: Partial<State>): void {
    this.#machine = { ...this.#parts.initial, ...carried };
  }

  show(change: Partial<View>): void {
    this.#shown = { ...this.#shown, ...change };
    this.#options.changed();
  }

  dispatch(event: Event | ConnectionEvent): void {
    const before = this.#machine;
    const { state, effects } = this.#parts.handle(before, event);
    this.#machine = state;
    for (const effect of effects) this.#perform(effect);
    this.#parts.handled?.(event, before);
    this.#options.changed();
  }

  /** Stops by choice, or because of a problem that is shown to the volunteer. */
  stop(problem: string | null = null): void {
    this.dispatch({ type: "stop" });
    this.#showSession({ problem });
  }

  /** Connects immediately if an attempt is scheduled. */
  connectNow(): void {
    if (this.#shown.retryAt !== null) this.#connect();
  }

  #showSession(change: Partial<SessionView>): void {
    this.#shown = { ...this.#shown, ...change };
    this.#options.changed();
  }

  #perform(effect: Effect | Connect | Send<Sent>): void {
    if (isConnectionEffect(effect)) {
      if (effect.type === "send") this.#options.transport.send(this.#parts.encode(effect.frame));
      else this.#wait(effect.delay);
      return;
    }
    this.#parts.perform(effect);
    if (effect.type === "close") this.#hangUp();
  }

  #wait(seconds: number): void {
    this.#showSession({ retryAt: performance.now() + seconds * 1000 });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), seconds * 1000);
  }

  #connect(): void {
    clearTimeout(this.#timer);
    this.#parts.connecting?.();
    this.#showSession({ retryAt: null });
    this.#options.transport.open({
      opened: () => this.dispatch({ type: "connected" }),
      received: (frame) => this.#receive(frame),
      closed: () => this.dispatch({ type: "disconnected", random: Math.random() }),
    });
  }

  #receive(bytes: Uint8Array): void {
    let frame: Received;
    try {
      frame = this.#parts.decode(bytes);
    } catch {
      this.stop(say.card.otherVersion);
      return;
    }
    const understood = inPageLanguage(frame);
    this.#parts.received(understood);
    // Who took part sees why it ended, too, and not only thanks.
    if (isClosing(understood) && this.isClosed) this.#showSession({ problem: understood.reason });
  }

  #hangUp(): void {
    clearTimeout(this.#timer);
    this.#options.transport.close();
    this.trainer.end();
    this.#showSession({ progress: null, retryAt: null });
  }
}

/** Replaces the English reason of a frame with a code by a sentence in the page's language. */
function inPageLanguage<Frame>(frame: Frame): Frame {
  const { code, reason } = frame as { readonly code?: unknown; readonly reason?: unknown };
  if (typeof code !== "string" || typeof reason !== "string") return frame;
  if (isUncounted(frame)) return { ...frame, reason: say.uncounted(frame) };
  return { ...frame, reason: say.refusal(code, reason) };
}

function isClosing(frame: unknown): frame is { readonly reason: string } {
  return (frame as { readonly type?: unknown }).type === "closing";
}

function isUncounted(frame: unknown): frame is Parameters<typeof say.uncounted>[0] {
  return (frame as { readonly type?: unknown }).type === "accepted";
}

function isConnectionEffect<Sent>(
  effect: SessionEffect | Connect | Send<Sent>,
): effect is Connect | Send<Sent> {
  return effect.type === "connect" || effect.type === "send";
}
