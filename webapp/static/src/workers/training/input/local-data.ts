/**
 * The volunteer's own examples, or those that all clients download, requested from the worker that reads the files.
 */

import type { Examples } from "../../../core/data/examples";
import type { OwnCounts, RowPart, TakeAnswer, TakeRequest } from "../../../core/messages/local-data";
import { type PartitionedData, parsePart, partitionOrder, partRows } from "../../../core/numerics/partition";
import { PendingCalls } from "../../../core/pending-calls";
import { later } from "../../../core/user-messages";
import type { ExampleSource } from "./example-source";

type TakenExamples = Extract<TakeAnswer, { readonly type: "taken" }>;

/** The client of the reader's port. Owns its end of the port. */
export class LocalExamples {
  readonly #calls: PendingCalls<TakeRequest, TakeAnswer>;
  readonly #orders = new Map<RowPart, Uint32Array>();

  constructor(
    private readonly port: MessagePort,
    private readonly counts: OwnCounts,
    /** The partition of the examples; null if all of them are for this device. */
    readonly dealt: PartitionedData | null = null,
  ) {
    this.#calls = new PendingCalls((message) => port.postMessage(message));
    port.onmessage = ({ data }: MessageEvent<TakeAnswer>) => this.#calls.receive(data);
  }

  source(part: RowPart): ExampleSource {
    return { count: this.counts[part], take: (rows) => this.#take(part, rows) };
  }

  /**
   * Returns the examples of the parts that the server calls `names`, all of one kind. Throws an error for people on
   * others.
   */
  parts(names: readonly string[]): ExampleSource {
    const { dealt } = this;
    if (dealt === null)
      throw new Error(later("This task trains on your own files, and its server assigns none."));
    const parts = names.map((name) => parsePart(dealt.key, name));
    const half = parts[0]?.part ?? "train";
    const rows = parts.flatMap(({ number }) => [...partRows(this.#order(half), dealt.most, number)]);
    return {
      count: rows.length,
      take: (request) =>
        this.#take(
          half,
          Uint32Array.from(request, (row) => rows[row] as number),
        ),
    };
  }

  #order(half: RowPart): Uint32Array {
    let order = this.#orders.get(half);
    if (order === undefined) {
      order = partitionOrder(this.counts[half]);
      this.#orders.set(half, order);
    }
    return order;
  }

  close(): void {
    this.port.close();
    this.#calls.rejectAll(new Error(later("Other files were chosen.")));
  }

  async #take(part: RowPart, rows: Uint32Array): Promise<Examples> {
    return (await this.#calls.ask<TakenExamples>({ part, rows })).examples;
  }
}
