/**
 * The versions for which this browser revealed shares in masked rounds; their updates are spent. Stored in IndexedDB;
 * a browser that cannot store them takes no part in masked rounds. The twin is
 * backend/peer/rounds/spent_versions.py.
 */

import { BrowserStore } from "../../core/data/storage";

/**
 * A server that renames its run could have a version's updates summed once more: so many runs of a task may have this
 * client's shares within a day. The oldest of more than MOST_RUNS are forgotten.
 */
const RUNS_A_DAY = 3;
const DAY = 24 * 3600 * 1000;
const MOST_RUNS = 1000;

/** One run of a task: versions below `spent` are spent; `at` (milliseconds, Unix) is the time of the last reveal. */
export interface SpentRun {
  readonly spent: number;
  readonly at: number;
}

export type Runs = ReadonlyMap<string, SpentRun>;

/** The storage of runs by task; tests replace it. */
export interface RunStore {
  update(task: string, change: (stored: Runs | undefined) => Runs): Promise<void>;
}

const NONE: SpentRun = { spent: 0, at: 0 };

export class SpentVersions {
  readonly #store: RunStore;
  readonly #clock: () => number;

  constructor(
    store: RunStore = new BrowserStore<Runs>("minga-spent", "tasks"),
    clock: () => number = Date.now,
  ) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Returns the first version of a task's `run` whose update may still be summed. Rejects if nothing can be stored, or
   * if the task started from the beginning too often.
   */
  async firstUnspent(task: string, run: string): Promise<number> {
    let found = NONE;
    let recent = 0;
    await this.#update(task, (runs) => {
      found = runs.get(run) ?? NONE;
      const since = this.#clock() - DAY;
      recent = [...runs].filter(([name, { at }]) => name !== run && at > since).length;
      // Whether a reveal could be stored is found out before others count on this client.
      return runs.has(run) ? runs : new Map([...runs, [run, NONE]]);
    });
    if (found.spent === 0 && recent >= RUNS_A_DAY) {
      throw new Error(
        `This task started from the beginning more than ${RUNS_A_DAY} times within a day. A server could use that ` +
          "to sum one update again and again. Take part tomorrow, or ask its owner.",
      );
    }
    return found.spent;
  }

  /** Stores that `version` of a task's `run` and all before it are spent. */
  async spend(task: string, run: string, version: number): Promise<void> {
    await this.#update(task, (runs) => {
      const spent = Math.max(version + 1, runs.get(run)?.spent ?? 0);
      return new Map([...runs, [run, { spent, at: this.#clock() }]]);
    });
  }

  async #update(task: string, change: (runs: Runs) => Runs): Promise<void> {
    try {
      await this.#store.update(task, (stored) => newest(change(stored ?? new Map())));
    } catch {
      throw new Error(
        "This browser cannot store in which sums its updates are, so none is masked. Allow this site to store data.",
      );
    }
  }
}

function newest(runs: Runs): Runs {
  return new Map([...runs].sort(([, one], [, other]) => one.at - other.at).slice(-MOST_RUNS));
}
