/** Evaluates a version's loss and metrics on held-out examples, as sums over batches, shards and clients. */

import {
  concat1d,
  dispose,
  reshape,
  type Tensor,
  type Tensor1D,
  tensor1d,
  tidy,
} from "@tensorflow/tfjs-core";
import type { Bundle } from "../../core/data/bundle";
import { type Batch, type Examples, makeBatch } from "../../core/data/examples";
import type { MetricTotals } from "../../core/messages/training";
import { HealthWatch } from "../../engine/backend-health";
import { Graph, type Tensors } from "../../engine/graph";
import type { BundleSource } from "../downloads/bundles";
import { batchTensors } from "./gradient";
import type { ExampleSource } from "./input/example-source";
import { MetricSums, ReportInterval, take, yieldToMessages } from "./metric-sums";

export interface EvaluatedTotals {
  readonly examples: number;
  readonly loss: number;
  readonly sums: MetricTotals;
}

/** Yields the numbers of `count` examples in the order of evaluation, a batch each time. */
function* inOrder(count: number, size: number): Generator<Uint32Array> {
  for (let start = 0; start < count; start += size) {
    yield Uint32Array.from({ length: Math.min(size, count - start) }, (_, i) => start + i);
  }
}

/** Yields the batches of shards that are fetched one by one, so that only one of them is in memory. */
export async function* batchesOfShards(
  bundle: Bundle,
  addresses: readonly string[],
  fetchExamples: (address: string) => Promise<Examples>,
): AsyncGenerator<Batch> {
  for (const address of addresses) {
    const examples = await fetchExamples(address);
    for (const rows of inOrder(examples.count, bundle.batch_size)) yield makeBatch(bundle, examples, rows);
  }
}

export async function* batchesOfSource(bundle: Bundle, source: ExampleSource): AsyncGenerator<Batch> {
  for (const rows of inOrder(source.count, bundle.batch_size)) {
    yield makeBatch(bundle, await source.take(rows), Uint32Array.from(rows.keys()));
  }
}

/** Evaluates versions. Owns the graph `evaluate`. */
export class Evaluator {
  private constructor(
    private readonly bundle: Bundle,
    private readonly graph: Graph,
  ) {}

  static async load({ bundle, graphFiles }: BundleSource): Promise<Evaluator> {
    return new Evaluator(bundle, await Graph.load(bundle.signatures.evaluate, await graphFiles("evaluate")));
  }

  /**
   * Evaluates until the batches end or `stopped` returns true; its arguments are the batches done and the next one's
   * milliseconds.
   */
  async measure(
    weights: Float32Array,
    batches: AsyncIterable<Batch>,
    stopped: (steps: number, stepMs: number) => boolean,
  ): Promise<EvaluatedTotals> {
    const { trainable, state } = this.bundle.parameters;
    const vector: Tensors = {
      trainable: tensor1d(weights.slice(0, trainable)),
      ...(state > 0 && { state: tensor1d(weights.slice(trainable)) }),
    };
    try {
      const { examples, loss, sums } = await this.#sum(vector, batches, stopped);
      return { examples, loss, sums };
    } finally {
      dispose(vector);
    }
  }

  /** Reads the report of a batch while the next one is computed. */
  async #sum(
    vector: Tensors,
    batches: AsyncIterable<Batch>,
    stopped: (steps: number, stepMs: number) => boolean,
  ): Promise<MetricSums> {
    const watch = new HealthWatch();
    const tally = new MetricSums();
    const stride = new ReportInterval(tally);
    let reading: Promise<void> = Promise.resolve();
    const record = async (report: Tensor1D, count: number): Promise<void> => {
      const values = await take(watch, report);
      watch.checkNumbers(values);
      tally.add(values, count);
      stride.stepped();
    };
    for await (const batch of batches) {
      if (stopped(tally.steps, stride.nextMs)) break;
      const report = tidy(() => this.#run(vector, batch));
      await reading;
      reading = record(report, batch.examples);
      await yieldToMessages();
    }
    await reading;
    return tally;
  }

  /** Computes loss and metrics of one batch; call it within a tidy. */
  #run(vector: Tensors, batch: Batch): Tensor1D {
    const { batch_size: size, inputs, labels } = this.bundle;
    const { loss, metrics } = this.graph.run({
      ...vector,
      ...batchTensors("x", batch.x, inputs, size),
      ...batchTensors("y", batch.y, labels, size),
      sample_weight: tensor1d(batch.sampleWeight),
    });
    const parts = [reshape(loss as Tensor, [1]), ...(metrics === undefined ? [] : [reshape(metrics, [-1])])];
    return concat1d(parts as Tensor1D[]);
  }

  dispose(): void {
    this.graph.dispose();
  }
}
