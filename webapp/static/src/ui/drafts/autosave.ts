/** Saves a draft while it is filled in: changes are collected for a moment and sent together, in their order. */

import { NoAnswer, Refusal } from "../lib/api";
import { type DraftTable, joinChanges } from "./record";

export interface DraftChange {
  /** The changes of the task file: tables are merged into the earlier ones, null removes a key. */
  readonly task?: DraftTable;
  readonly readme?: string;
}

export type SaveState =
  | { readonly state: "saving" | "saved" }
  | { readonly state: "failed" | "away"; readonly why: string };

const GATHER_MS = 500;
const AGAIN_MS = 3000;

/** Collects and saves changes. Owns the unsaved ones; `send` saves a change, `show` displays the state. */
export class Autosave {
  #waiting: DraftChange | null = null;
  #promise: Promise<void> | null = null;
  #hurry: () => void = () => undefined;

  constructor(
    private readonly send: (change: DraftChange) => Promise<void>,
    private readonly show: (sign: SaveState) => void,
    private readonly gather = GATHER_MS,
    private readonly retryDelay = AGAIN_MS,
  ) {}

  /** Whether leaving the page now would lose changes. */
  get unsaved(): boolean {
    return this.#promise !== null;
  }

  /** Saves `change` with the earlier ones; resolves once they are saved or refused. */
  save(change: DraftChange): Promise<void> {
    this.#waiting = this.#waiting === null ? change : mergeChanges(this.#waiting, change);
    this.show({ state: "saving" });
    this.#promise ??= this.#work().finally(() => {
      this.#promise = null;
    });
    return this.#promise;
  }

  /** Saves the waiting changes immediately. */
  async flush(): Promise<void> {
    this.#hurry();
    await this.#promise;
  }

  async #work(): Promise<void> {
    while (this.#waiting !== null) {
      await this.#pause(this.gather);
      const change: DraftChange = this.#waiting;
      this.#waiting = null;
      try {
        await this.send(change);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        if (!(error instanceof NoAnswer)) {
          this.show({ state: "failed", why: error.message });
          if (this.#waiting === null) return;
          continue;
        }
        // The server is away and has not refused the change: it waits, together with later changes.
        const since: DraftChange | null = this.#waiting;
        this.#waiting = since === null ? change : mergeChanges(change, since);
        this.show({ state: "away", why: error.message });
        await this.#pause(this.retryDelay);
      }
    }
    this.show({ state: "saved" });
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function mergeChanges(first: DraftChange, second: DraftChange): DraftChange {
  const task = first.task && second.task ? joinChanges(first.task, second.task) : (second.task ?? first.task);
  const readme = second.readme ?? first.readme;
  return { ...(task ? { task } : {}), ...(readme === undefined ? {} : { readme }) };
}
