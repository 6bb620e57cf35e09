/** The training worker as promises. Owns the worker: `terminate` frees the memory and the GPU it holds. */

import type { Backend, FromWorker, Plan, ToWorker } from "../shared/worker-messages";

type Answer<T extends FromWorker["type"]> = Extract<FromWorker, { readonly type: T }>;
export type Loaded = Answer<"loaded">;
export type Progress = Answer<"progress">;
export type Trained = Answer<"trained">;
type Question = ToWorker extends infer M
  ? M extends { readonly id: number }
    ? Omit<M, "id">
    : never
  : never;

interface Pending {
  readonly resolve: (answer: FromWorker) => void;
  readonly reject: (problem: Error) => void;
  readonly progress: (message: Progress) => void;
}

const ignore = (): void => undefined;

export class Trainer {
  readonly #worker = new Worker(new URL("../worker/main.ts", import.meta.url), { type: "module" });
  readonly #pending = new Map<number, Pending>();
  #last = 0;

  constructor() {
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#receive(data);
    this.#worker.onerror = ({ message }) => {
      this.#failAll(new Error(`The training worker failed: ${message || "it could not be started"}.`));
    };
  }

  load(origin: string, bundle: string, backend: Backend | null): Promise<Loaded> {
    return this.#ask<Loaded>({ type: "load", origin, bundle, backend });
  }

  train(weights: string, plan: Plan, progress: (message: Progress) => void): Promise<Trained> {
    return this.#ask<Trained>({ type: "train", weights, plan }, progress);
  }

  async predict(weights: string, input: Float32Array): Promise<Float32Array> {
    return (await this.#ask<Answer<"predicted">>({ type: "predict", weights, input })).output;
  }

  /** Ends the training in progress after the current step; its promise resolves with what was done so far. */
  stop(): void {
    this.#worker.postMessage({ type: "stop" } satisfies ToWorker);
  }

  terminate(): void {
    this.#worker.terminate();
    this.#failAll(new Error("The training worker was ended."));
  }

  #ask<A extends FromWorker>(question: Question, progress: Pending["progress"] = ignore): Promise<A> {
    this.#last += 1;
    const id = this.#last;
    return new Promise<A>((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as Pending["resolve"], reject, progress });
      this.#worker.postMessage({ ...question, id });
    });
  }

  #receive(message: FromWorker): void {
    const pending = this.#pending.get(message.id);
    if (!pending) return;
    if (message.type === "progress") {
      pending.progress(message);
      return;
    }
    this.#pending.delete(message.id);
    if (message.type === "failed") pending.reject(new Error(message.message));
    else pending.resolve(message);
  }

  #failAll(problem: Error): void {
    for (const { reject } of this.#pending.values()) reject(problem);
    this.#pending.clear();
  }
}
