/** Questions to a worker or over a port that wait for their answers; the owner of those passes the messages on. */

import { UserError, type UserMessage } from "./user-messages";

/** The messages of a protocol that are answered. */
export type Numbered<M = { readonly id: number }> = Extract<M, { readonly id: number }>;

/** `progress` comes any number of times before the answer; `failed` is an answer. */
type CallAnswer = Numbered &
  ({ readonly type: "failed"; readonly problem: UserMessage } | { readonly type: string });

/** A message without its number. */
export type Unnumbered<M> = M extends Numbered ? Omit<M, "id"> : never;

interface PendingCall<From> {
  readonly resolve: (answer: From) => void;
  readonly reject: (problem: Error) => void;
  readonly progress: (message: From) => void;
}

/** The number of a question is that of its answer, so that several can wait at once. */
export class PendingCalls<To extends Numbered, From extends CallAnswer> {
  readonly #pending = new Map<number, PendingCall<From>>();
  #last = 0;

  /** `errorOf` returns the error of an answer that reports one; null for others. */
  constructor(
    private readonly post: (message: To, transfer: Transferable[]) => void,
    private readonly errorOf: (answer: From) => Error | null = failedAnswer,
  ) {}

  /** Rejects with an error for people if the answer reports one, or at `rejectAll`. */
  ask<A extends From>(
    question: Unnumbered<To>,
    transfer: Transferable[] = [],
    progress: (message: From) => void = () => undefined,
  ): Promise<A> {
    this.#last += 1;
    const id = this.#last;
    return new Promise<A>((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as (answer: From) => void, reject, progress });
      this.post({ ...question, id } as unknown as To, transfer);
    });
  }

  receive(message: From): void {
    const call = this.#pending.get(message.id);
    if (message.type === "progress") {
      call?.progress(message);
      return;
    }
    this.#pending.delete(message.id);
    const error = this.errorOf(message);
    if (error === null) call?.resolve(message);
    else call?.reject(error);
  }

  rejectAll(error: Error): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}

/** Returns the error of a failed answer; null for others. */
export function failedAnswer(answer: CallAnswer): UserError | null {
  return "problem" in answer ? new UserError(answer.problem) : null;
}
