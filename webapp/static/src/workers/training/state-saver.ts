/** Saves the state of a training from time to time; backend/peer/training/training_state.py is the same for peers. */

import type { TrainingState } from "../../core/messages/training";

/** A state costs at most one part in so many of a training's time, also on a slow device. */
const LEAST_SHARE = 50;

export class StateSaver {
  #next: number;

  /** `start` is the state from which the training continues. */
  constructor(
    private readonly every: number,
    private readonly write: (state: TrainingState) => Promise<void> | void,
    readonly start: TrainingState | null = null,
  ) {
    this.#next = performance.now() + every;
  }

  /** Whether the state is to be saved now. */
  get isDue(): boolean {
    return performance.now() >= this.#next;
  }

  /** Reads the state and writes it. A state that cannot be written costs nothing else. */
  async save(read: () => Promise<TrainingState>): Promise<void> {
    const began = performance.now();
    await this.write(await read());
    const ended = performance.now();
    this.#next = ended + Math.max(this.every, LEAST_SHARE * (ended - began));
  }
}
