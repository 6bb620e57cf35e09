/** Evaluates a version's answers example by example, to show its mistakes. */

import { dispose, type Tensor, tensor1d, tidy } from "@tensorflow/tfjs-core";
import type { Bundle } from "../../core/data/bundle";
import { type ExampleColumn, type Examples, makeBatch } from "../../core/data/examples";
import {
  type AnswerReading,
  type ExaminedExamples,
  type MistakeFindings,
  ModelAnswers,
  readingOf,
} from "../../core/data/mistakes";
import { HealthWatch } from "../../engine/backend-health";
import { Graph, type Tensors } from "../../engine/graph";
import type { BundleSource } from "../downloads/bundles";
import { batchTensors } from "./gradient";
import type { ExampleSource } from "./input/example-source";
import { yieldToMessages } from "./metric-sums";

/** A batch of some examples as they are stored. */
export interface StoredExamples {
  readonly examples: Examples;
  readonly rows: Uint32Array;
}

/** The examples of an evaluation. */
export interface ExaminedPart {
  readonly batches: AsyncIterable<StoredExamples>;
  readonly about: ExaminedExamples;
}

/** The number of examples that is enough, and the number of mistakes that are shown. */
const EXAMPLES = 256;
const SHOWN = 12;

/** Yields the numbers 0 to `count` - 1, `size` at a time. */
function* inBatches(count: number, size: number): Generator<Uint32Array> {
  for (let start = 0; start < count; start += size) {
    yield Uint32Array.from({ length: Math.min(size, count - start) }, (_, i) => start + i);
  }
}

export async function* storedInShards(
  { batch_size }: Bundle,
  addresses: readonly string[],
  fetchExamples: (address: string) => Promise<Examples>,
): AsyncGenerator<StoredExamples> {
  for (const address of addresses) {
    const examples = await fetchExamples(address);
    for (const rows of inBatches(examples.count, batch_size)) yield { examples, rows };
  }
}

export async function* storedInSource(
  { batch_size }: Bundle,
  source: ExampleSource,
): AsyncGenerator<StoredExamples> {
  for (const rows of inBatches(source.count, batch_size)) {
    yield { examples: await source.take(rows), rows: Uint32Array.from(rows.keys()) };
  }
}

/** Evaluates the answers. Owns the graph `predict`. */
export class AnswerReviewer {
  private constructor(
    private readonly bundle: Bundle,
    private readonly graph: Graph,
    private readonly reading: AnswerReading,
  ) {}

  /** Returns null for a model whose answers are no classes. */
  static async load({ bundle, graphFiles }: BundleSource): Promise<AnswerReviewer | null> {
    const reading = readingOf(bundle);
    if (reading === null) return null;
    const graph = await Graph.load(bundle.signatures.predict, await graphFiles("predict"));
    return new AnswerReviewer(bundle, graph, reading);
  }

  /** Evaluates at least one batch, and continues until there are enough examples or `stopped` returns true. */
  async examine(
    weights: Float32Array,
    { batches, about }: ExaminedPart,
    stopped: () => boolean,
  ): Promise<MistakeFindings> {
    const answers = new ModelAnswers(this.reading, SHOWN);
    const watch = new HealthWatch();
    const { trainable, state } = this.bundle.parameters;
    const vector: Tensors = {
      trainable: tensor1d(weights.slice(0, trainable)),
      ...(state > 0 && { state: tensor1d(weights.slice(trainable)) }),
    };
    try {
      for await (const { examples, rows } of batches) {
        const { y, ...batch } = makeBatch(this.bundle, examples, rows);
        const outputs = await this.#outputs(watch, vector, batch.x);
        const stored = (row: number) => examples.x.map((column) => valuesOf(column, rows[row] as number));
        answers.add(outputs, y[0] ?? [], rows.length, stored);
        await yieldToMessages();
        if (answers.examples >= EXAMPLES || stopped()) break;
      }
    } finally {
      dispose(vector);
    }
    const shapes = this.bundle.inputs.map(({ shape }) => shape);
    return answers.findings(about, shapes);
  }

  async #outputs(
    watch: HealthWatch,
    vector: Tensors,
    x: readonly (Float32Array | Int32Array)[],
  ): Promise<Float32Array> {
    const { inputs, batch_size } = this.bundle;
    const output = tidy(
      () => this.graph.run({ ...vector, ...batchTensors("x", x, inputs, batch_size) }).output_0 as Tensor,
    );
    try {
      return (await watch.read(output.data())) as Float32Array;
    } finally {
      dispose(output);
    }
  }

  dispose(): void {
    this.graph.dispose();
  }
}

/** Copies one example's values. */
function valuesOf({ values, width }: ExampleColumn, row: number): ExampleColumn["values"] {
  return values.slice(row * width, (row + 1) * width);
}
