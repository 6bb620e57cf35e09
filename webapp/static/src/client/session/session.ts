/**
 * A browser's session in a task with rounds: performs the effects of the participant machine. Owns the update that
 * waits to be sent; its loop owns the rest.
 */

import type { Backend } from "../../core/backend";
import type { MistakeFindings } from "../../core/data/mistakes";
import { type ControlVariates, clock } from "../../core/messages/training";
import { maskedBytes } from "../../core/numerics/masking/bit-packing";
import { chosenValues } from "../../core/numerics/masking/sparse";
import type { Evaluate } from "../../protocol/client/evaluation";
import { trainingSeconds } from "../../protocol/client/training-pace";
import { handle, INITIAL, type ParticipantState } from "../../protocol/rounds/participant";
import type { ParticipantEffect, ParticipantEvent, Train } from "../../protocol/rounds/participant-events";
import {
  type ClientFrame,
  decodeServer,
  encodeFrame,
  type FrameOf,
  type ServerFrame,
} from "../../protocol/wire/messages";
import type { Made, Trainer, TrainingResult } from "../workers/training-worker";
import { EvaluationExamples } from "./evaluation-examples";
import { localMetrics } from "./local-metrics";
import { type MaskedView, Masker } from "./masking-host";
import { workerPlan } from "./plan";
import { NOTHING_SHOWN, SessionLoop, type SessionLoopOptions, type SessionView } from "./session-loop";
import { programOf } from "./session-trainer";
import { UpdateCache } from "./update-cache";
import { Uploader } from "./uploader";

export interface SessionOptions extends SessionLoopOptions<ServerFrame> {
  /** The number of the volunteer's own training examples; 0 if the task assigns shards. */
  readonly examples: () => number;
  /** Takes what this device trained; null if no page needs it. */
  readonly made: ((made: Made) => void) | null;
}

/** What the page shows. Times are those of `performance.now()`. */
export interface RoundsView extends SessionView {
  readonly machine: ParticipantState;
  /** Examples of all updates that counted. */
  readonly examples: number;
  /** This participant's public id, once known. */
  readonly client: string | null;
  readonly task: FrameOf<"state"> | null;
  readonly taskAt: number;
  /** The latest round in which this participant's update counted. */
  readonly counted: number | null;
  /** Why the latest update did not count, though it was accepted; "" if it did. */
  readonly uncounted: string;
  /** The latest round in which it was checked and does not count. */
  readonly checked: number | null;
  /** Steps done and planned of the update that is being sent. */
  readonly done: readonly [steps: number, planned: number] | null;
  /** The current masked round, if any. */
  readonly masked: MaskedView | null;
}

/** The view's data that the session itself keeps. */
type ShownRoundsState = Omit<RoundsView, "machine" | "examples" | "masked">;

const NOTHING: ShownRoundsState = {
  ...NOTHING_SHOWN,
  client: null,
  counted: null,
  uncounted: "",
  checked: null,
  task: null,
  taskAt: 0,
  done: null,
};

/** The result of one training, until the next one is done. */
interface TrainedUpdate {
  readonly plan: Train;
  readonly control: ControlVariates | null;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly examples: number;
  readonly change: ArrayBuffer | null;
}

export class Session {
  readonly #options: SessionOptions;
  readonly #loop: SessionLoop<
    ParticipantState,
    ParticipantEvent,
    ParticipantEffect,
    ClientFrame,
    ServerFrame,
    ShownRoundsState
  >;
  readonly #masker: Masker;
  readonly #uploader: Uploader;
  /** The least number of clients among which updates are masked; 0 if they may stay unmasked. */
  #minimum = 0;
  /** Examples of masked updates that counted; the server does not know their number. */
  #maskedExamples = 0;
  #task = "";
  #run = "";
  #backend: Backend | null = null;
  #update: TrainedUpdate | null = null;
  readonly #updateCache = new UpdateCache();
  readonly #evaluationExamples = new EvaluationExamples();
  /** The key of the stored control variate: the task and this client. */
  #identity = "";

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#uploader = new Uploader(options.transport);
    this.#loop = new SessionLoop<
      ParticipantState,
      ParticipantEvent,
      ParticipantEffect,
      ClientFrame,
      ServerFrame,
      ShownRoundsState
    >(options, {
      initial: INITIAL,
      shown: NOTHING,
      handle,
      encode: encodeFrame,
      decode: decodeServer,
      perform: (effect) => this.#perform(effect),
      received: (frame) => this.#receive(frame),
      connecting: () => this.#uploader.connecting(),
    });
    this.#masker = new Masker({
      send: (frame) => {
        // Frames from before the answer to the greeting are requested again after it.
        if (this.#loop.isOpen) options.transport.send(encodeFrame(frame));
      },
      changed: options.changed,
      gaveUp: () => {
        const { plan, offer } = this.#loop.machine;
        if (plan !== null && offer === null) this.#loop.trainer.current?.stop();
      },
    });
  }

  get view(): RoundsView {
    const { machine, shown } = this.#loop;
    const examples = machine.examples + this.#maskedExamples;
    return { ...shown, machine, examples, masked: this.#masker.view };
  }

  /**
   * Takes part with this backend; with null the worker chooses one. Updates are masked among at least `minimum`
   * clients; with 0 they may also be added up without masks. Clients add noise of at least `minNoise` times the clip.
   */
  start(backend: Backend | null, minimum: number, minNoise: number): void {
    if (!this.#loop.isClosed) return;
    // Another session may use another backend, so nothing loaded is kept; the server's promise is.
    const { accepted, refused, examples, promised } = this.#loop.machine;
    this.#loop.reset({ accepted, refused, examples, promised });
    this.#backend = backend;
    this.#minimum = minimum;
    this.#loop.show({ problem: null, progress: null, loaded: null, notice: null });
    const { token, agent } = this.#options;
    this.#loop.dispatch({
      type: "start",
      hello: {
        type: "hello",
        token,
        kind: "browser",
        backend: backend ?? "auto",
        agent,
        aggregation: minimum > 0 ? ["masked"] : ["masked", "open"],
        min_masked: minimum,
      },
      min_noise: minNoise,
    });
  }

  stop(problem: string | null = null): void {
    this.#loop.stop(problem);
  }

  /** Returns where the version of these weights is wrong; null if no result is available now. */
  examine(weights: string): Promise<MistakeFindings | null> {
    return this.#evaluationExamples.examine(this.#loop.trainer.current, weights);
  }

  #perform(effect: ParticipantEffect): void {
    switch (effect.type) {
      case "load":
        void this.#load(effect.bundle);
        return;
      case "train":
        this.#evaluationExamples.usePlan(effect.plan);
        this.#loop.show({ progress: null, done: null });
        void this.#train(effect.plan, this.#deadline(effect.plan));
        return;
      case "measure":
        this.#evaluationExamples.useOrder(effect.exam);
        void this.#measure(
          effect.exam,
          clock() + 1000 * trainingSeconds(this.#uploader.rate, effect.exam.seconds, 0),
        );
        return;
      case "abort_training":
      case "abort_measuring":
        this.#loop.trainer.current?.stop();
        return;
      case "keep_change":
      case "undo_change":
        this.#updateControlVariate(effect.round, effect.type === "undo_change");
        return;
      case "send_chunks": {
        const { round, from, until } = effect;
        const isNeeded = () => this.#loop.machine.offer?.round === round;
        if (this.#update) this.#uploader.send(round, this.#update.bytes, from, until, isNeeded);
        return;
      }
      case "close":
        this.#masker.stop();
        this.#updateCache.forget();
        this.#loop.show({ task: null });
    }
  }

  /** Returns when the training by `plan` has to end so that its update arrives in time. */
  #deadline({ seconds, masking }: Train): number {
    const { parameters = 0, rows = 0 } = this.#loop.shown.loaded ?? {};
    const size = masking
      ? maskedBytes(chosenValues(parameters, masking.share), rows, masking.bits)
      : 4 * parameters;
    return clock() + 1000 * trainingSeconds(this.#uploader.rate, seconds, size);
  }

  #receive(frame: ServerFrame): void {
    if (frame.type === "welcome") this.#greet(frame);
    if (frame.type === "accepted" && !frame.counted && !frame.reason) {
      this.#loop.show({ checked: frame.round });
    } else if (frame.type === "accepted") {
      if (frame.counted) this.#count(frame.round);
      this.#loop.show({ uncounted: frame.reason });
    }
    if (this.#update && (frame.type === "accepted" || frame.type === "refused"))
      this.#uploader.answered(this.#update.bytes.length);
    if (frame.type === "state") this.#loop.show({ task: frame, taskAt: performance.now() });
    this.#loop.dispatch({ type: "frame", frame });
    this.#updateCache.takeFrame(frame);
    this.#tellMasker(frame);
    this.#options.received(frame);
  }

  /** Forwards frames to the masker: a plan only if the participant took it, and `welcome` only after its answer. */
  #tellMasker(frame: ServerFrame): void {
    const { ready, plan } = this.#loop.machine;
    const { client, loaded } = this.#loop.shown;
    if (frame.type === "welcome" && ready !== null) this.#masker.welcomed();
    if (frame.type !== "train") this.#masker.takeFrame(frame);
    else if (frame.masking && plan?.round === frame.round && client && loaded) {
      const { parameters, rows } = loaded;
      const [task, run, minimum] = [this.#task, this.#run, this.#minimum];
      const bundle = this.#loop.machine.bundle ?? "";
      // Not by the names that the server gives: under another one it could have a version summed again.
      const { address } = this.#options.transport;
      this.#masker.plan(frame, { client, task, bundle, address, run, parameters, rows, minimum });
    }
  }

  #count(round: number): void {
    const update = this.#update;
    if (update?.plan.masking && update.plan.round === round) this.#maskedExamples += update.examples;
    this.#loop.show({ counted: round });
  }

  #greet({ task, bundle, client, chunk_bytes, run }: FrameOf<"welcome">): void {
    this.#uploader.welcomed(chunk_bytes);
    this.#task = task;
    this.#run = run;
    this.#identity = `${this.#options.origin} ${task} ${bundle} ${client}`;
    this.#loop.show({ client });
  }

  /** Adds the change to the control variate in the worker, or subtracts it again. */
  #updateControlVariate(round: number, undo: boolean): void {
    const update = this.#update;
    const trainer = this.#loop.trainer.current;
    if (trainer === null || update?.plan.round !== round) return;
    if (update.control !== null && update.change !== null) {
      trainer.keep(update.control, update.change.slice(0), undo);
    }
  }

  async #load(bundle: string): Promise<void> {
    const isNeeded = () => this.#loop.machine.bundle === bundle && this.#loop.machine.ready === null;
    const loaded = await this.#loop.trainer.load(bundle, this.#backend, isNeeded);
    if (!loaded) return;
    this.#loop.show({ loaded });
    const { backend, stepMs } = loaded;
    const examples = this.#options.examples();
    const program = programOf(loaded, this.#options.program);
    this.#loop.dispatch({ type: "loaded", backend, step_ms: stepMs, examples, program });
  }

  async #train(plan: Train, until: number): Promise<void> {
    const isNeeded = () => this.#loop.machine.plan === plan;
    const { version } = plan;
    const control =
      plan.control === null ? null : { server: plan.control, storedAs: this.#identity, version };
    const train = (trainer: Trainer) =>
      trainer.train(plan.weights, workerPlan(plan, control, until), (progress) => {
        if (!isNeeded()) return;
        this.#loop.show({ progress });
        this.#options.progressed(progress);
      });
    // Even a cached result is used only after the masker has received the plan.
    const cached = await Promise.resolve(this.#updateCache.take(plan));
    const trained = cached ?? (await this.#loop.trainer.retry(isNeeded, train));
    // Without a step there is no update.
    if (!trained || trained.steps === 0) return;
    this.#updateCache.keep(plan, trained);
    this.#reportMetrics(plan, trained);
    // A copy, because the update is transferred to other workers.
    this.#options.made?.({ weights: plan.weights, update: trained.update.slice(0) });
    const { examples, steps, planned, change } = trained;
    // If the plan asks for privacy, only the update is sent.
    const { loss, sums } = plan.privacy === null ? trained : { loss: 0, sums: [] };
    const { round, masking } = plan;
    this.#loop.show({ done: [steps, planned] });
    const bytes = masking ? await this.#masker.mask(round, trained) : new Uint8Array(trained.update);
    if (bytes === null || !isNeeded()) return;
    this.#update = { plan, control, bytes, examples, change };
    // The statistics of a masked update are masked with it.
    const unmasked = masking ? { examples: 0, steps: 0, loss: 0, sums: [] } : { examples, steps, loss, sums };
    this.#loop.dispatch({ type: "trained", round, size: bytes.length, ...unmasked });
  }

  #reportMetrics({ version }: Train, trained: TrainingResult): void {
    const { loaded } = this.#loop.shown;
    if (loaded) this.#options.learned(localMetrics(version, trained, loaded));
  }

  /** Evaluates a version. A failure is ignored: other clients evaluate, too, and training continues. */
  async #measure(order: Evaluate, until: number): Promise<void> {
    const shards = order.shards.map(({ sha256 }) => sha256);
    const measured = await this.#loop.trainer.current
      ?.measure(order.weights, { shards, until })
      .catch(() => null);
    if (!measured || this.#loop.machine.evaluation.order !== order) return;
    const { round, version } = order;
    const { examples, loss, sums } = measured;
    this.#loop.dispatch({ type: "measured", round, version, examples, loss, sums });
  }
}
