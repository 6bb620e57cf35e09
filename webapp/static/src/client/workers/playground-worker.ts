/** The worker of the playground, with promises. Owns the worker: a failed one is replaced at the next question. */

import {
  type FromPlaygroundWorker,
  PLAYGROUND_WORKER,
  type PlaygroundQuestion,
  type PlaygroundSubject,
  type PlaygroundVersion,
  type Prompt,
  type ToPlaygroundWorker,
} from "../../core/messages/playground";
import { UserError } from "../../core/user-messages";
import { say } from "../../i18n";
import "./script-policy";

export type QuestionAnswer = Extract<FromPlaygroundWorker, { readonly type: "answered" }>;
export type Written = Extract<FromPlaygroundWorker, { readonly type: "wrote" | "written" }>;

interface PendingQuestion {
  readonly resolve: (answer: FromPlaygroundWorker) => void;
  readonly reject: (problem: Error) => void;
  readonly wrote: (soFar: Written) => void;
}

function spawnPlaygroundWorker(): Worker {
  return new Worker(new URL("../../workers/training/main.ts", import.meta.url), {
    type: "module",
    name: PLAYGROUND_WORKER,
  });
}

export class PlaygroundWorker {
  #worker: Worker | null = null;
  readonly #pending = new Map<number, PendingQuestion>();
  #last = 0;

  constructor(
    private readonly subject: PlaygroundSubject,
    private readonly spawn = spawnPlaygroundWorker,
  ) {}

  /** Returns the answer of each version. Throws an Error for people. */
  async ask(versions: readonly PlaygroundVersion[], question: PlaygroundQuestion): Promise<QuestionAnswer> {
    return (await this.#wait(
      (id) => ({ type: "ask", id, versions, question }),
      () => undefined,
    )) as QuestionAnswer;
  }

  /**
   * Returns the text that each version writes after the prompt; `wrote` is called for every token. Throws an Error
   * for people.
   */
  async write(
    versions: readonly PlaygroundVersion[],
    prompt: Prompt,
    wrote: (soFar: Written) => void,
  ): Promise<Written> {
    return (await this.#wait((id) => ({ type: "write", id, versions, prompt }), wrote)) as Written;
  }

  /** Ends the writing after the current token. */
  stop(): void {
    this.#worker?.postMessage({ type: "stop" } satisfies ToPlaygroundWorker);
  }

  /** Ends the worker; pending questions are rejected. */
  terminate(): void {
    this.#end(say.workers.modelClosed);
  }

  #running(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = this.spawn();
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<FromPlaygroundWorker>) => this.#receive(data);
    worker.onerror = ({ message }) => {
      if (worker === this.#worker) this.#end(say.workers.modelNotStarted(message));
    };
    worker.postMessage({ type: "open", subject: this.subject } satisfies ToPlaygroundWorker);
    return worker;
  }

  #end(reason: string): void {
    this.#worker?.terminate();
    this.#worker = null;
    for (const { reject } of this.#pending.values()) reject(new Error(reason));
    this.#pending.clear();
  }

  #wait(
    message: (id: number) => ToPlaygroundWorker,
    wrote: PendingQuestion["wrote"],
  ): Promise<FromPlaygroundWorker> {
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject, wrote });
      this.#running().postMessage(message(id));
    });
  }

  #receive(message: FromPlaygroundWorker): void {
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    if (message.type === "wrote") {
      pending.wrote(message);
      return;
    }
    this.#pending.delete(message.id);
    if (message.type === "failed") pending.reject(new UserError(message.message));
    else pending.resolve(message);
  }
}
