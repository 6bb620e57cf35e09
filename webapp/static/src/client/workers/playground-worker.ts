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
import { type Numbered, PendingCalls } from "../../core/pending-calls";
import { say } from "../../i18n";
import "./script-policy";

export type QuestionAnswer = Extract<FromPlaygroundWorker, { readonly type: "answered" }>;
export type Written = Extract<FromPlaygroundWorker, { readonly type: "progress" | "written" }>;

function spawnPlaygroundWorker(): Worker {
  return new Worker(new URL("../../workers/training/main.ts", import.meta.url), {
    type: "module",
    name: PLAYGROUND_WORKER,
  });
}

export class PlaygroundWorker {
  #worker: Worker | null = null;
  readonly #calls = new PendingCalls<Numbered<ToPlaygroundWorker>, FromPlaygroundWorker>((message) =>
    this.#running().postMessage(message),
  );

  constructor(
    private readonly subject: PlaygroundSubject,
    private readonly spawn = spawnPlaygroundWorker,
  ) {}

  /** Returns the answer of each version. Throws an Error for people. */
  ask(versions: readonly PlaygroundVersion[], question: PlaygroundQuestion): Promise<QuestionAnswer> {
    return this.#calls.ask({ type: "ask", versions, question });
  }

  /**
   * Returns the text that each version writes after the prompt; `wrote` is called for every token. Throws an Error
   * for people.
   */
  write(
    versions: readonly PlaygroundVersion[],
    prompt: Prompt,
    wrote: (soFar: Written) => void,
  ): Promise<Written> {
    return this.#calls.ask({ type: "write", versions, prompt }, [], (soFar) => wrote(soFar as Written));
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
    worker.onmessage = ({ data }: MessageEvent<FromPlaygroundWorker>) => this.#calls.receive(data);
    worker.onerror = ({ message }) => {
      if (worker === this.#worker) this.#end(say.workers.modelNotStarted(message));
    };
    worker.postMessage({ type: "open", subject: this.subject } satisfies ToPlaygroundWorker);
    return worker;
  }

  #end(reason: string): void {
    this.#worker?.terminate();
    this.#worker = null;
    this.#calls.rejectAll(new Error(reason));
  }
}
