/** Examples that are not all in memory: fetched by number, ahead of the step that takes them. */

import type { Bundle } from "../../../core/data/bundle";
import type { Examples } from "../../../core/data/examples";
import type { Walk } from "../../../core/numerics/batches";
import { BatchOrder, type PreparedBatch, prepareBatch } from "./batch-order";
import type { Feed } from "./feed";

/** A source of examples that are fetched on demand. */
export interface ExampleSource {
  readonly count: number;
  /** Returns the examples of these numbers (0 to count - 1), in this order. */
  take(rows: Uint32Array): Promise<Examples>;
}

/** The number of batches that are fetched ahead. */
const AHEAD = 2;

/** The batches of a source, fetched `AHEAD` of the training so that decoding and computing overlap. */
export class SourceFeed implements Feed {
  readonly #order: BatchOrder;
  readonly #coming: Promise<PreparedBatch>[] = [];
  #asked: number;
  #closed = false;

  constructor(
    private readonly bundle: Bundle,
    private readonly source: ExampleSource,
    private readonly walk: Walk,
    begun = 0,
  ) {
    this.#asked = begun;
    this.#order = new BatchOrder(source.count, walk);
  }

  get steps(): number {
    return this.#order.steps;
  }

  async next(): Promise<PreparedBatch> {
    while (this.#coming.length <= AHEAD && this.#asked < this.steps) this.#ask();
    const batch = this.#coming.shift();
    if (batch === undefined) throw new Error("A batch beyond the plan's last was asked for.");
    return batch;
  }

  close(): void {
    this.#closed = true;
    this.#coming.length = 0;
  }

  #ask(): void {
    this.#asked += 1;
    const fetched = this.#fetch(this.#asked);
    // Fetching can fail before the batch is requested; the request gets the error.
    fetched.catch(() => undefined);
    this.#coming.push(fetched);
  }

  async #fetch(step: number): Promise<PreparedBatch> {
    const rows = this.#order.rows(step);
    const examples = await this.source.take(rows);
    if (this.#closed) throw new Error("The feed was closed.");
    return prepareBatch(this.bundle, examples, Uint32Array.from(rows.keys()), this.walk.seed, step);
  }
}
