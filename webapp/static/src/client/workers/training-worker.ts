/**
 * The training worker, with promises. Owns the worker: `terminate` frees its memory and GPU. When a backend fails,
 * the work is repeated in a new worker with another setup.
 */

import type { Backend } from "../../core/backend";
import { type Failure, recover, type Setup } from "../../core/backend-recovery";
import type { MistakeFindings } from "../../core/data/mistakes";
import type {
  ControlVariates,
  EvaluationPlan,
  FromWorker,
  StateSaving,
  ToWorker,
  TrainingPlan,
  WeightsSource,
} from "../../core/messages/training";
import { type Numbered, PendingCalls } from "../../core/pending-calls";
import { UserError } from "../../core/user-messages";
import { say } from "../../i18n";
import "./script-policy";

type WorkAnswer<T extends FromWorker["type"]> = Extract<FromWorker, { readonly type: T }>;
export type LoadedWorker = WorkAnswer<"loaded">;
export type TrainingProgress = WorkAnswer<"progress">;
export type TrainingResult = WorkAnswer<"trained">;
export type EvaluationResult = WorkAnswer<"measured">;
/** The result of one training of a version's weights: the change (float32, local minus global). */
export interface Made {
  readonly weights: WeightsSource;
  readonly update: ArrayBuffer;
}

/** A failure that the worker reported. */
class WorkerError extends UserError {
  constructor(readonly failed: WorkAnswer<"failed">) {
    super(failed.problem, { lasting: failed.lasting });
  }
}

/** The last question and answer of `load`. */
interface Loading {
  readonly origin: string;
  readonly bundle: string;
  readonly setup: Setup;
  readonly loaded: LoadedWorker;
}

/** Called when the work continues with another setup, with the reason for people. */
export type RecoveryListener = (reason: string, loaded: LoadedWorker) => void;

export function trainingWorker(): Worker {
  return new Worker(new URL("../../workers/training/main.ts", import.meta.url), { type: "module" });
}

export class Trainer {
  readonly #calls = new PendingCalls<Numbered<ToWorker>, FromWorker>(
    (message) => this.#worker.postMessage(message),
    (answer) => (answer.type === "failed" ? new WorkerError(answer) : null),
  );
  readonly #failures: Failure[] = [];
  #worker: Worker;
  #loading: Loading | null = null;
  /** Set when the training was stopped or the worker ended: nothing is started again. */
  #stopped = false;
  #keeping: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly recovered: RecoveryListener = () => undefined,
    private readonly spawn = trainingWorker,
    private readonly preferExact = false,
  ) {
    this.#worker = this.#start();
  }

  async load(origin: string, bundle: string, backend: Backend | null): Promise<LoadedWorker> {
    this.#failures.length = 0;
    const { preferExact } = this;
    return this.#load(origin, bundle, { backend, avoid: [], sliced: null, preferExact });
  }

  train(
    weights: WeightsSource,
    plan: TrainingPlan,
    progress: (message: TrainingProgress) => void,
    saving?: StateSaving,
  ): Promise<TrainingResult> {
    this.#stopped = false;
    return this.#retryRecovered(() =>
      this.#calls.ask<TrainingResult>({ type: "train", weights, plan, saving }, [], (message) =>
        progress(message as TrainingProgress),
      ),
    );
  }

  /** Fetches the files of a work unit while other work continues. */
  async fetch(lease: number, origin: string, weights: string, shard: string): Promise<true> {
    await this.#calls.ask({ type: "fetch", lease, origin, weights, shard });
    return true;
  }

  /** Drops the files that were fetched for this lease. */
  forget(lease: number): void {
    this.#worker.postMessage({ type: "forget", lease } satisfies ToWorker);
  }

  /** Evaluates a version on held-out examples. */
  measure(weights: WeightsSource, plan: EvaluationPlan): Promise<EvaluationResult> {
    this.#stopped = false;
    return this.#retryRecovered(() => this.#calls.ask<EvaluationResult>({ type: "measure", weights, plan }));
  }

  /** Returns a version's answers to examples; null if its answers are no classes. A failure is ignored. */
  async examine(
    weights: WeightsSource,
    shards: readonly string[],
    aside: boolean,
  ): Promise<MistakeFindings | null> {
    const answer = this.#calls.ask<WorkAnswer<"examined">>({ type: "examine", weights, shards, aside });
    return (await answer.catch(() => null))?.findings ?? null;
  }

  /** Adds the change of a counted update to this client's control variate, or subtracts it again. */
  keep(control: ControlVariates, change: ArrayBuffer, undo: boolean): void {
    // If it cannot be stored, the control variate starts at zero in the next round.
    this.#keeping = this.#calls.ask({ type: "keep", control, change, undo }).catch(() => undefined);
  }

  /** Ends the current work after the current step; its promise resolves with what was done so far. */
  stop(): void {
    this.#stopped = true;
    this.#worker.postMessage({ type: "stop" } satisfies ToWorker);
  }

  /** Stops, and terminates the worker once it has saved its state. */
  async end(): Promise<void> {
    this.stop();
    await this.#keeping;
    this.terminate();
  }

  terminate(): void {
    this.#stopped = true;
    this.#end(say.workers.trainingEnded);
  }

  async #load(origin: string, bundle: string, setup: Setup): Promise<LoadedWorker> {
    const loaded = await this.#calls.ask<LoadedWorker>({ type: "load", origin, bundle, setup });
    this.#loading = { origin, bundle, setup, loaded };
    return loaded;
  }

  /** Asks; if the backend fails, loads a new worker and asks again. */
  async #retryRecovered<A>(ask: () => Promise<A>): Promise<A> {
    for (;;) {
      try {
        return await ask();
      } catch (problem) {
        if (!(await this.#recover(problem))) throw problem;
      }
    }
  }

  /** Whether another setup is ready for a retry. */
  async #recover(problem: unknown): Promise<boolean> {
    if (this.#stopped || this.#loading === null) return false;
    if (!(problem instanceof WorkerError) || problem.failed.kind === null) return false;
    const { origin, bundle, loaded } = this.#loading;
    const { backend, sliced, sliceable } = loaded;
    this.#failures.push({ kind: problem.failed.kind, backend, sliced, sliceable });
    const setup = recover(this.#loading.setup, this.#failures);
    if (setup === null) return false;
    const reason = say.problem(problem);
    this.#end(reason);
    this.#worker = this.#start();
    const next = await this.#load(origin, bundle, setup);
    this.recovered(reason, next);
    return true;
  }

  #start(): Worker {
    const worker = this.spawn();
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#calls.receive(data);
    worker.onerror = ({ message }) => {
      this.#calls.rejectAll(new Error(say.workers.trainingFailed(message)));
    };
    return worker;
  }

  #end(reason: string): void {
    this.#worker.terminate();
    this.#calls.rejectAll(new Error(reason));
  }
}
