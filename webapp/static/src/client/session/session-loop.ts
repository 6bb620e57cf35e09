/**
 * The loop of every session: keeps one client connected with the server of its task. Owns the machine's state, the
 * connection and the wait for the next one, the worker of the visit, and what is to be shown. The session performs what
 * is particular to its task.
 */

import { say } from "../../i18n";
import type { Connect, ConnectedMachine, ContactEvent, Send } from "../../protocol/client/connection";
import type { Step } from "../../protocol/client/reducer";
import type { Transport } from "../transports/socket";
import type { LoadedWorker, RecoveryListener, Trainer, TrainingProgress } from "../workers/training-worker";
import type { LocalMetrics } from "./local-metrics";
import { SessionTrainer } from "./session-trainer";

/** What every page gives its session. */
export interface SessionLoopOptions<Heard> {
  readonly transport: Transport;
  /** Makes the worker of one visit; called on start. */
  readonly trainer: (recovered: RecoveryListener) => Trainer;
  readonly origin: string;
  readonly token: string;
  readonly agent: string;
  /** Something that `view` shows has changed. */
  readonly changed: () => void;
  readonly received: (frame: Heard) => void;
  readonly progressed: (progress: TrainingProgress) => void;
  /** A training with at least one step ended here: what this device learned. */
  readonly learned: (learned: LocalMetrics) => void;
}

/** What every session shows. Times are those of `performance.now()`. */
export interface SessionView {
  /** Of what is trained, once it made a step. */
  readonly progress: TrainingProgress | null;
  /** What trains here, once it is loaded. */
  readonly loaded: LoadedWorker | null;
  /** Why something else trains than at first. */
  readonly notice: string | null;
  /** When the next attempt to connect is made. */
  readonly retryAt: number | null;
  /** Why the session ended by itself, or why the worker has to be asked again. */
  readonly problem: string | null;
}

/** Before anything happened. */
export const NOTHING_SHOWN: SessionView = {
  progress: null,
  loaded: null,
  notice: null,
  retryAt: null,
  problem: null,
};

/** What sessions perform themselves; after `close` the loop hangs up. */
interface SessionEffect {
  readonly type: string;
}

/** What differs from session to session. */
export interface SessionLoopParts<
  State,
  Event,
  Effect extends SessionEffect,
  Said,
  Heard,
  View extends SessionView,
> {
  readonly initial: State;
  readonly shown: View;
  readonly handle: (state: State, event: Event | ContactEvent) => Step<State, Effect | Connect | Send<Said>>;
  readonly encode: (frame: Said) => Uint8Array<ArrayBuffer>;
  /** Throws on what is no frame. */
  readonly decode: (frame: Uint8Array) => Heard;
  readonly perform: (effect: Effect) => void;
  /** The server said something, which the machine is to be told of. */
  readonly received: (frame: Heard) => void;
  /** A connection is opened. */
  readonly connecting?: () => void;
  /** All effects of `event` are performed; the state was `before`. */
  readonly handled?: (event: Event | ContactEvent, before: State) => void;
}

export class SessionLoop<
  State extends ConnectedMachine,
  Event,
  Effect extends SessionEffect,
  Said,
  Heard,
  View extends SessionView,
> {
  readonly trainer: SessionTrainer;
  readonly #options: SessionLoopOptions<Heard>;
  readonly #parts: SessionLoopParts<State, Event, Effect, Said, Heard, View>;
  #machine: State;
  #shown: View;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    options: SessionLoopOptions<Heard>,
    parts: SessionLoopParts<State, Event, Effect, Said, Heard, View>,
  ) {
    this.#options = options;
    this.#parts = parts;
    this.#machine = parts.initial;
    this.#shown = parts.shown;
    this.trainer = new SessionTrainer({
      make: options.trainer,
      origin: options.origin,
      recovered: (notice, loaded) => this.#tell({ notice, loaded }),
      troubled: (problem) => this.#tell({ problem }),
      // While the server is away, nothing can be had of it: that is not this device's fault.
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
    return this.#machine.contact.link === "open";
  }

  get isClosed(): boolean {
    return this.#machine.contact.link === "closed";
  }

  /** Begins another visit; of the last one only what is in `carried` stays. */
  reset(carried: Partial<State>): void {
    this.#machine = { ...this.#parts.initial, ...carried };
  }

  show(change: Partial<View>): void {
    this.#shown = { ...this.#shown, ...change };
    this.#options.changed();
  }

  dispatch(event: Event | ContactEvent): void {
    const before = this.#machine;
    const { state, effects } = this.#parts.handle(before, event);
    this.#machine = state;
    for (const effect of effects) this.#perform(effect);
    this.#parts.handled?.(event, before);
    this.#options.changed();
  }

  /** Ends by choice, or for a problem that people are told. */
  stop(problem: string | null = null): void {
    this.dispatch({ type: "stop" });
    this.#tell({ problem });
  }

  /** Tries now to connect, and not when the time has come. */
  connectNow(): void {
    if (this.#shown.retryAt !== null) this.#connect();
  }

  #tell(change: Partial<SessionView>): void {
    this.#shown = { ...this.#shown, ...change };
    this.#options.changed();
  }

  #perform(effect: Effect | Connect | Send<Said>): void {
    if (isContactEffect(effect)) {
      if (effect.type === "send") this.#options.transport.send(this.#parts.encode(effect.frame));
      else this.#wait(effect.delay);
      return;
    }
    this.#parts.perform(effect);
    if (effect.type === "close") this.#hangUp();
  }

  #wait(seconds: number): void {
    this.#tell({ retryAt: performance.now() + seconds * 1000 });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), seconds * 1000);
  }

  #connect(): void {
    clearTimeout(this.#timer);
    this.#parts.connecting?.();
    this.#tell({ retryAt: null });
    this.#options.transport.open({
      opened: () => this.dispatch({ type: "connected" }),
      received: (frame) => this.#receive(frame),
      closed: () => this.dispatch({ type: "disconnected", random: Math.random() }),
    });
  }

  #receive(bytes: Uint8Array): void {
    let frame: Heard;
    try {
      frame = this.#parts.decode(bytes);
    } catch {
      this.stop(say.card.otherVersion);
      return;
    }
    this.#parts.received(frame);
  }

  #hangUp(): void {
    clearTimeout(this.#timer);
    this.#options.transport.close();
    this.trainer.end();
    this.#tell({ progress: null, retryAt: null });
  }
}

function isContactEffect<Said>(effect: SessionEffect | Connect | Send<Said>): effect is Connect | Send<Said> {
  return effect.type === "connect" || effect.type === "send";
}
