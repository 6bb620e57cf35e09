/**
 * One browser's part in one task: performs the effects that the participant machine decides.
 * Owns the machine's state, the connection, the worker and the update that waits to be sent.
 */

import { type Rate, trainingSeconds, uploaded } from "../protocols/pace";
import { handle, INITIAL, type State } from "../protocols/participant";
import type { Effect, Event, Exam, Train } from "../protocols/participant-events";
import { CHUNK_BYTES, decodeServer, encodeFrame, type FrameOf, type ServerFrame } from "../shared/wire";
import { type Backend, type Control, clock, type Plan } from "../shared/worker-messages";
import type { Transport } from "./socket";
import type { Loaded, Progress, Recovered, Trainer } from "./trainer";

/** More than this in the socket's buffer only delays other frames. */
const BUFFER_LIMIT = 4 * CHUNK_BYTES;
const BUFFER_POLL = 20;
/** Seconds before the worker is asked again after a failure, for example while the server restarts. */
const RETRIES = [1, 3, 9];

export interface SessionOptions {
  readonly transport: Transport;
  /** Makes the worker of one visit; called on start. */
  readonly trainer: (recovered: Recovered) => Trainer;
  readonly origin: string;
  readonly token: string;
  readonly agent: string;
  /** The volunteer's own training examples; 0 where the task deals out shards. */
  readonly examples: () => number;
  /** Something that `view` shows has changed. */
  readonly changed: () => void;
  readonly heard: (frame: ServerFrame) => void;
  readonly progressed: (progress: Progress) => void;
}

/** What the page shows. Times are those of `performance.now()`. */
export interface View {
  readonly machine: State;
  /** This participant's public id, once known. */
  readonly client: string | null;
  readonly task: FrameOf<"state"> | null;
  readonly taskAt: number;
  /** The latest round in which this participant's update counted. */
  readonly counted: number | null;
  readonly progress: Progress | null;
  /** Steps done and planned of the update that is being sent. */
  readonly done: readonly [steps: number, planned: number] | null;
  /** What trains here, once it is loaded. */
  readonly loaded: Loaded | null;
  /** Why something else trains than at first. */
  readonly notice: string | null;
  /** When the next attempt to connect is made. */
  readonly retryAt: number | null;
  /** Why the session ended by itself, or why the worker has to be asked again. */
  readonly problem: string | null;
}

/** What one training made, until the next one is done. */
interface Update {
  readonly plan: Train;
  readonly control: Control | null;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly change: ArrayBuffer | null;
}

export class Session {
  readonly #options: SessionOptions;
  #machine: State = INITIAL;
  #trainer: Trainer | null = null;
  #backend: Backend | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #update: Update | null = null;
  /** What the kept control variate belongs to: the task and this client. */
  #identity = "";
  #rate: Rate = null;
  /** When the first chunk of the update in hand left, in milliseconds of `clock`. */
  #uploadingSince: number | null = null;
  /** Grows with every connection: chunks of an older one are not sent on. */
  #connection = 0;
  /** The longest chunk that the server takes. */
  #chunkBytes = CHUNK_BYTES;
  #sending: Promise<void> = Promise.resolve();
  #view: Omit<View, "machine"> = {
    client: null,
    counted: null,
    task: null,
    taskAt: 0,
    progress: null,
    done: null,
    loaded: null,
    notice: null,
    retryAt: null,
    problem: null,
  };

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  get view(): View {
    return { ...this.#view, machine: this.#machine };
  }

  /** Takes part with this backend; null leaves the choice to the worker. */
  start(backend: Backend | null): void {
    if (this.#machine.link !== "closed") return;
    // Another visit may use another backend, so nothing loaded is kept.
    const { accepted, refused, examples } = this.#machine;
    this.#machine = { ...INITIAL, accepted, refused, examples };
    this.#backend = backend;
    this.#show({ problem: null, progress: null, loaded: null, notice: null });
    const { token, agent } = this.#options;
    this.#dispatch({
      type: "start",
      hello: { type: "hello", token, kind: "browser", backend: backend ?? "auto", agent },
    });
  }

  stop(problem: string | null = null): void {
    this.#dispatch({ type: "stop" });
    this.#show({ problem });
  }

  #dispatch(event: Event): void {
    const { state, effects } = handle(this.#machine, event);
    this.#machine = state;
    for (const effect of effects) this.#perform(effect);
    this.#options.changed();
  }

  #show(change: Partial<Omit<View, "machine">>): void {
    this.#view = { ...this.#view, ...change };
    this.#options.changed();
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case "connect":
        this.#show({ retryAt: performance.now() + effect.delay * 1000 });
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#connect(), effect.delay * 1000);
        return;
      case "send":
        this.#options.transport.send(encodeFrame(effect.frame));
        return;
      case "load":
        this.#trainer ??= this.#options.trainer((notice, loaded) => this.#show({ notice, loaded }));
        void this.#load(effect.bundle);
        return;
      case "train":
        this.#show({ progress: null, done: null });
        void this.#train(effect.plan, this.#until(effect.plan));
        return;
      case "measure":
        void this.#measure(effect.exam, clock() + 1000 * trainingSeconds(this.#rate, effect.exam.seconds, 0));
        return;
      case "abort_training":
      case "abort_measuring":
        this.#trainer?.stop();
        return;
      case "keep_change":
      case "undo_change":
        this.#keep(effect.round, effect.type === "undo_change");
        return;
      case "send_chunks": {
        const { round, from, until } = effect;
        const connection = this.#connection;
        if (from === 0) this.#uploadingSince = clock();
        this.#sending = this.#sending.then(() => this.#sendChunks(connection, round, from, until));
        return;
      }
      case "close":
        clearTimeout(this.#timer);
        this.#options.transport.close();
        this.#endTrainer();
        this.#show({ task: null, progress: null, retryAt: null });
    }
  }

  /** When the training by `plan` has to end so that its update arrives in time. */
  #until({ seconds }: Train): number {
    const { parameters = 0 } = this.#view.loaded ?? {};
    return clock() + 1000 * trainingSeconds(this.#rate, seconds, 4 * parameters);
  }

  #connect(): void {
    this.#connection += 1;
    this.#uploadingSince = null;
    this.#show({ retryAt: null });
    this.#options.transport.open({
      opened: () => this.#dispatch({ type: "connected" }),
      received: (frame) => this.#receive(frame),
      closed: () => this.#dispatch({ type: "disconnected", random: Math.random() }),
    });
  }

  #receive(bytes: Uint8Array): void {
    let frame: ServerFrame;
    try {
      frame = decodeServer(bytes);
    } catch {
      this.stop("The server speaks another version of this protocol. Reload the page and start again.");
      return;
    }
    if (frame.type === "welcome") this.#greet(frame);
    if (frame.type === "accepted") this.#show({ counted: frame.round });
    if (frame.type === "accepted" || frame.type === "refused") this.#timeUpload();
    if (frame.type === "state") this.#show({ task: frame, taskAt: performance.now() });
    this.#dispatch({ type: "frame", frame });
    this.#options.heard(frame);
  }

  #greet({ task, bundle, client, chunk_bytes }: FrameOf<"welcome">): void {
    this.#chunkBytes = Math.max(1, Math.min(CHUNK_BYTES, chunk_bytes));
    this.#identity = `${this.#options.origin} ${task} ${bundle} ${client}`;
    this.#show({ client });
  }

  /** An update was answered: how fast did it get there? */
  #timeUpload(): void {
    if (this.#update === null || this.#uploadingSince === null) return;
    this.#rate = uploaded(this.#rate, this.#update.bytes.length, (clock() - this.#uploadingSince) / 1000);
    this.#uploadingSince = null;
  }

  /** Has the worker keep the change of the control variate, or take it back out. */
  #keep(round: number, undo: boolean): void {
    const update = this.#update;
    if (this.#trainer === null || update?.plan.round !== round) return;
    if (update.control !== null && update.change !== null) {
      this.#trainer.keep(update.control, update.change.slice(0), undo);
    }
  }

  /** The worker ends when the change that it is keeping is kept. */
  #endTrainer(): void {
    const trainer = this.#trainer;
    this.#trainer = null;
    void trainer?.end();
  }

  async #load(bundle: string): Promise<void> {
    const { origin } = this.#options;
    const wanted = () => this.#machine.bundle === bundle && this.#machine.ready === null;
    const loaded = await this.#insist(wanted, (trainer) => trainer.load(origin, bundle, this.#backend));
    if (!loaded) return;
    this.#show({ loaded });
    const { backend, stepMs } = loaded;
    this.#dispatch({ type: "loaded", backend, step_ms: stepMs, examples: this.#options.examples() });
  }

  async #train(plan: Train, until: number): Promise<void> {
    const wanted = () => this.#machine.plan === plan;
    const { version } = plan;
    const control = plan.control === null ? null : { server: plan.control, kept: this.#identity, version };
    const trained = await this.#insist(wanted, (trainer) =>
      trainer.train(plan.weights, workerPlan(plan, control, until), (progress) => {
        if (!wanted()) return;
        this.#show({ progress });
        this.#options.progressed(progress);
      }),
    );
    // Without a whole step there is nothing to say.
    if (!trained || trained.steps === 0) return;
    const bytes = new Uint8Array(trained.update);
    this.#update = { plan, control, bytes, change: trained.change };
    const { examples, steps, planned, loss, sums } = trained;
    const { round } = plan;
    this.#show({ done: [steps, planned] });
    this.#dispatch({ type: "trained", round, size: bytes.length, examples, steps, loss, sums });
  }

  /** A measurement that fails is left to others; training goes on. */
  async #measure(exam: Exam, until: number): Promise<void> {
    const shards = exam.shards.map(({ sha256 }) => sha256);
    const trainer = this.#trainer;
    const measured = await trainer?.measure(exam.weights, { shards, until }).catch(() => null);
    if (!measured || this.#machine.exam !== exam) return;
    const { round, version } = exam;
    const { examples, loss, sums } = measured;
    this.#dispatch({ type: "measured", round, version, examples, loss, sums });
  }

  /** Asks the worker until it answers or nobody wants the answer any more (null); after the last failure stops. */
  async #insist<A>(wanted: () => boolean, ask: (trainer: Trainer) => Promise<A>): Promise<A | null> {
    const trainer = this.#trainer;
    const current = () => trainer !== null && trainer === this.#trainer && wanted();
    for (let failures = 0; trainer && current(); failures += 1) {
      try {
        const answer = await ask(trainer);
        if (!current()) return null;
        this.#show({ problem: null });
        return answer;
      } catch (error) {
        if (!current()) return null;
        const problem = error instanceof Error ? error.message : String(error);
        const delay = RETRIES[failures];
        if (delay === undefined) this.stop(problem);
        else {
          this.#show({ problem });
          await pause(delay * 1000);
        }
      }
    }
    return null;
  }

  async #sendChunks(connection: number, round: number, from: number, until: number): Promise<void> {
    const { transport } = this.#options;
    const current = () => connection === this.#connection && this.#machine.offer?.round === round;
    const size = this.#chunkBytes;
    for (let offset = from; offset < until; offset += size) {
      while (current() && transport.buffered > BUFFER_LIMIT) await pause(BUFFER_POLL);
      if (!current()) return;
      const data = this.#update?.bytes.subarray(offset, Math.min(offset + size, until));
      if (data === undefined) return;
      transport.send(encodeFrame({ type: "chunk", round, offset, data }));
    }
  }
}

function workerPlan(plan: Train, control: Control | null, until: number): Plan {
  return {
    seed: plan.seed,
    epochs: plan.epochs,
    steps: plan.steps,
    batchSize: plan.batch_size,
    learningRate: plan.learning_rate,
    pastSteps: plan.past_steps,
    proximalMu: plan.proximal_mu,
    control,
    until,
    shards: plan.shards.map(({ sha256 }) => sha256),
  };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
