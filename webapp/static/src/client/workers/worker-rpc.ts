/**
 * A worker that answers each question once, with promises. Owns the worker: `terminate` ends it, and deletes its
 * data.
 */

import { say } from "../../i18n";

interface RpcMessage {
  readonly type: string;
  readonly id: number;
}
/** A message without its number. */
type RpcQuestion<M> = M extends RpcMessage ? Omit<M, "id"> : never;
export type QuestionOf<To extends RpcMessage, Q> = Extract<RpcQuestion<To>, { readonly type: Q }>;

interface PendingCall<From> {
  readonly resolve: (answer: From) => void;
  readonly reject: (problem: Error) => void;
}

/** A client of such a worker; `Answers` has the type of the answer to each question. */
export class WorkerRpc<
  To extends RpcMessage,
  From extends RpcMessage,
  Answers extends Record<string, From["type"]>,
> {
  readonly #worker: Worker;
  readonly #pending = new Map<number, PendingCall<From>>();
  #last = 0;

  constructor(worker: Worker) {
    this.#worker = worker;
    this.#worker.onmessage = ({ data }: MessageEvent<From>) => this.#receive(data);
    this.#worker.onerror = ({ message }) => this.#failAll(say.workers.failed(message));
  }

  /** Rejects with a sentence if the worker fails or is ended. */
  ask<Q extends keyof Answers>(
    question: QuestionOf<To, Q>,
    transfer: Transferable[] = [],
  ): Promise<Extract<From, { readonly type: Answers[Q] }>> {
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as PendingCall<From>["resolve"], reject });
      this.#worker.postMessage({ ...question, id }, transfer);
    });
  }

  terminate(): void {
    this.#worker.terminate();
    this.#failAll(say.workers.ended);
  }

  /** Returns an error if the answer reports one; else null. */
  protected refusal(_answer: From): Error | null {
    return null;
  }

  #receive(answer: From): void {
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    const refusal = this.refusal(answer);
    if (refusal === null) pending?.resolve(answer);
    else pending?.reject(refusal);
  }

  #failAll(reason: string): void {
    for (const { reject } of this.#pending.values()) reject(new Error(reason));
    this.#pending.clear();
  }
}
