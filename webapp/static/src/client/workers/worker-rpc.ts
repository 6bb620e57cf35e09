/**
 * A worker that answers each question once, with promises. Owns the worker: `terminate` ends it, and deletes its
 * data.
 */

import { failedAnswer, PendingCalls, type Unnumbered } from "../../core/pending-calls";
import { say } from "../../i18n";

interface RpcMessage {
  readonly type: string;
  readonly id: number;
}
export type QuestionOf<To extends RpcMessage, Q> = Extract<Unnumbered<To>, { readonly type: Q }>;

/** A client of such a worker; `Answers` has the type of the answer to each question. */
export class WorkerRpc<
  To extends RpcMessage,
  From extends RpcMessage,
  Answers extends Record<string, From["type"]>,
> {
  readonly #worker: Worker;
  readonly #calls: PendingCalls<To, From>;

  constructor(worker: Worker, errorOf: (answer: From) => Error | null = failedAnswer) {
    this.#worker = worker;
    this.#calls = new PendingCalls((message, transfer) => worker.postMessage(message, transfer), errorOf);
    worker.onmessage = ({ data }: MessageEvent<From>) => this.#calls.receive(data);
    worker.onerror = ({ message }) => this.#calls.rejectAll(new Error(say.workers.failed(message)));
  }

  /** Rejects with an error for people if the worker fails or is ended. */
  ask<Q extends keyof Answers>(
    question: QuestionOf<To, Q>,
    transfer: Transferable[] = [],
  ): Promise<Extract<From, { readonly type: Answers[Q] }>> {
    return this.#calls.ask(question as Unnumbered<To>, transfer);
  }

  terminate(): void {
    this.#worker.terminate();
    this.#calls.rejectAll(new Error(say.workers.ended));
  }
}
