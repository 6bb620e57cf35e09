/**
 * The versions for which this browser revealed shares in masked rounds; their updates are spent. Stored in IndexedDB;
 * a browser that cannot store them takes no part in masked rounds. The twin is
 * backend/peer/rounds/spent_versions.py.
 */

import { BrowserStore } from "../../core/data/storage";
import { type FilledMessage, later, UserError } from "../../core/user-messages";

/**
 * A server that renames its run could have a version's updates summed once more: so many runs of a task may have this
 * client's shares within a day. The oldest of more than MOST_RUNS are forgotten.
 */
const RUNS_A_DAY = 3;
const DAY = 24 * 3600 * 1000;
const MOST_RUNS = 1000;
/** The largest number that a stored run can have. */
const MOST_SPENT = Number.MAX_SAFE_INTEGER;
const TOO_MANY_RUNS = later(
  "This task started from the beginning more than %(runs)s times within a day. A server could use that to sum one update again and again. Take part tomorrow, or ask its owner.",
  { runs: RUNS_A_DAY },
);

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
    // Whether a reveal could be stored is found out before others count on this client.
    const { spent } = await this.#change(task, run, (known) => known);
    return spent;
  }

  /**
   * Stores that `version` of a task's `run` and all before it are spent. Rejects if it is already, since another page
   * of this browser revealed meanwhile. All pages have one identity, so no two of them are in the same round.
   */
  async spend(task: string, run: string, version: number): Promise<void> {
    if (version >= MOST_SPENT)
      throw new UserError(
        later("No server comes to version %(version)s; no shares are revealed.", { version }),
      );
    await this.#change(task, run, ({ spent }) =>
      version < spent
        ? later("Another page of this browser revealed shares for version %(version)s meanwhile.", {
            version: spent - 1,
          })
        : { spent: version + 1, at: this.#clock() },
    );
  }

  /**
   * Stores what `change` makes of a run, in one transaction, and returns it. Rejects with the sentence that `change`
   * returns instead, if the run is one too many within a day, or if nothing can be stored.
   */
  async #change(
    task: string,
    run: string,
    change: (known: SpentRun) => SpentRun | FilledMessage,
  ): Promise<SpentRun> {
    let changed = NONE as SpentRun | FilledMessage;
    try {
      await this.#store.update(task, (stored) => {
        const runs = stored ?? new Map<string, SpentRun>();
        changed = this.#isTooMany(runs, run) ? TOO_MANY_RUNS : change(runs.get(run) ?? NONE);
        return "english" in changed ? runs : newest(new Map([...runs, [run, changed]]));
      });
    } catch {
      throw new Error(
        later(
          "This browser cannot store in which sums its updates are, so none is masked. Allow this site to store data.",
        ),
      );
    }
    if ("english" in changed) throw new UserError(changed);
    return changed;
  }

  /** Whether `run` would be one run too many of those with a reveal in the last day. */
  #isTooMany(runs: Runs, run: string): boolean {
    const since = this.#clock() - DAY;
    const recent = [...runs].filter(([, { at }]) => at > since).map(([name]) => name);
    return !recent.includes(run) && recent.length >= RUNS_A_DAY;
  }
}

function newest(runs: Runs): Runs {
  return new Map([...runs].sort(([, one], [, other]) => one.at - other.at).slice(-MOST_RUNS));
}
