/** Runs a train graph on a batch: as a whole, or in slices that add up to the same step. */

import { add, fill, mul, scalar, type Tensor, tensor, tensor1d } from "@tensorflow/tfjs-core";
import type { Bundle, TensorSpec } from "../../core/data/bundle";
import { type Batch, elements } from "../../core/data/examples";
import type { Graph, Tensors } from "../../engine/graph";
import type { PreparedBatch } from "./input/batch-order";

/** As an input `row_squares` of the graph `apply`: the squares are those of the gradient's own values. */
const OWN_SQUARES = -1;

export interface Gradient {
  readonly loss: Tensor;
  readonly gradient: Tensor;
  /** Squares of what reads of tables contribute (docs/reference/bundle.md); absent without tables. */
  readonly rowSquares?: Tensor | undefined;
  /** [M, 2]; absent without metrics. */
  readonly metrics: Tensor | undefined;
  readonly state: Tensor | undefined;
}

/** Returns the parts of a batch of `size` rows as the inputs `prefix_0`, `prefix_1`, ... of a graph. */
export function batchTensors(
  prefix: "x" | "y",
  parts: Batch["x"],
  specs: readonly TensorSpec[],
  size: number,
): Tensors {
  return Object.fromEntries(
    specs.map(({ shape, dtype }, i) => [
      `${prefix}_${i}`,
      tensor(parts[i] as Float32Array | Int32Array, [size, ...shape], dtype),
    ]),
  );
}

/** Returns the outputs of one run of `train`, whose batches have `size` rows; `weights` are its trained inputs. */
export function runTrain(
  bundle: Bundle,
  size: number,
  train: Graph,
  weights: Tensors,
  state: Tensor | undefined,
  batch: PreparedBatch,
): Tensors {
  const random = bundle.random.map(({ name, shape }, i) => {
    const rows = shape[0] === bundle.batch_size ? [size, ...shape.slice(1)] : [...shape];
    return [name, tensor(batch.random[i] as Float32Array, rows)];
  });
  return train.run({
    ...weights,
    ...(state && { state }),
    ...batchTensors("x", batch.x, bundle.inputs, size),
    ...batchTensors("y", batch.y, bundle.labels, size),
    sample_weight: tensor1d(batch.sampleWeight),
    ...(Object.fromEntries(random) as Tensors),
  });
}

/** The input `row_squares` of `apply`, where it has one; without squares they are those of the gradient's own values. */
export function rowSquaresInput({ signatures }: Bundle, squares: Tensor | undefined): Tensors {
  const input = signatures.apply.inputs.find(({ name }) => name === "row_squares");
  return input === undefined ? {} : { row_squares: squares ?? fill([...input.shape], OWN_SQUARES) };
}

/** Runs `train` once on the flat vector; call it within a tidy. */
export function gradientOf(
  bundle: Bundle,
  size: number,
  train: Graph,
  trainable: Tensor,
  state: Tensor | undefined,
  batch: PreparedBatch,
): Gradient {
  const outputs = runTrain(bundle, size, train, { trainable }, state, batch);
  return {
    loss: outputs.loss as Tensor,
    gradient: outputs.gradient as Tensor,
    rowSquares: outputs.row_squares,
    metrics: outputs.metrics,
    state: outputs.new_state,
  };
}

/**
 * Computes the step of a whole batch from runs of `train` on slices of it, which need less memory: means are weighted
 * by the slices' rows with examples, and the state is passed from slice to slice. Only BatchNormalization differs: it
 * sees the smaller batch (Hoffer et al. 2017, ghost batches).
 */
export function gradientInSlices(
  bundle: Bundle,
  train: Graph,
  trainable: Tensor,
  state: Tensor | undefined,
  batch: PreparedBatch,
): Gradient {
  const size = bundle.slice?.batch_size ?? bundle.batch_size;
  const run = (slice: PreparedBatch, before: Tensor | undefined): Gradient => {
    const { loss, gradient, rowSquares, ...part } = gradientOf(bundle, size, train, trainable, before, slice);
    const share = slice.examples / Math.max(batch.examples, 1);
    return {
      ...part,
      loss: mul(loss, scalar(share)),
      gradient: mul(gradient, scalar(share)),
      rowSquares: rowSquares && mul(rowSquares, scalar(share * share)),
    };
  };
  const [first, ...others] = slicesOf(bundle, batch, size);
  return others.reduce(
    (sum, slice) => {
      const part = run(slice, sum.state);
      return {
        loss: add(sum.loss, part.loss),
        gradient: add(sum.gradient, part.gradient),
        rowSquares: sum.rowSquares && part.rowSquares && add(sum.rowSquares, part.rowSquares),
        metrics: sum.metrics && part.metrics && add(sum.metrics, part.metrics),
        state: part.state,
      };
    },
    run(first, state),
  );
}

/** Returns the slices of a batch that hold an example, but at least one. They are views of the batch's values. */
export function slicesOf(
  bundle: Bundle,
  batch: PreparedBatch,
  size: number,
): [PreparedBatch, ...PreparedBatch[]] {
  const starts = Array.from({ length: bundle.batch_size / size }, (_, i) => i * size);
  const cut = <V extends Float32Array | Int32Array>(values: V, start: number, width: number) =>
    values.subarray(start * width, (start + size) * width) as V;
  const slices: PreparedBatch[] = starts.map((start) => {
    const sampleWeight = cut(batch.sampleWeight, start, 1);
    const examples = sampleWeight.reduce((count, weight) => count + (weight > 0 ? 1 : 0), 0);
    return {
      x: batch.x.map((values, i) => cut(values, start, elements(bundle.inputs[i]?.shape ?? []))),
      y: batch.y.map((values, i) => cut(values, start, elements(bundle.labels[i]?.shape ?? []))),
      random: batch.random.map((values, i) => {
        const [rows, ...rest] = bundle.random[i]?.shape ?? [];
        return rows === bundle.batch_size ? cut(values, start, elements(rest)) : values;
      }),
      sampleWeight,
      examples,
    };
  });
  const existing = slices.filter(({ examples }) => examples > 0);
  return (existing.length > 0 ? existing : slices.slice(0, 1)) as [PreparedBatch, ...PreparedBatch[]];
}
