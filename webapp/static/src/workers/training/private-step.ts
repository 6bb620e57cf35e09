/**
 * The private gradient of a step, which reveals little about each example (DP-SGD; Abadi et al. 2016, algorithm 1).
 */

import { add, div, maximum, mul, norm, scalar, type Tensor, tensor1d, tidy } from "@tensorflow/tfjs-core";
import type { ExampleClip } from "../../core/messages/training";
import type { Gradient } from "./gradient";
import type { PreparedBatch } from "./input/batch-order";
import { gaussianNoise } from "./noise";

/** The parameters of a private step. */
export interface Bound extends ExampleClip {
  /** The microbatches of a full step of the plan, by which the noised sum is divided. */
  readonly microbatches: number;
}

export function boundOf(privacy: ExampleClip, batchSize: number): Bound {
  return { ...privacy, microbatches: Math.ceil(batchSize / privacy.microbatch) };
}

/** Returns the batch once for each microbatch that has rows, with all other rows at weight 0. */
export function microbatches(batch: PreparedBatch, size: number): PreparedBatch[] {
  const numbers = Array.from({ length: Math.ceil(batch.sampleWeight.length / size) }, (_, number) => number);
  const parts = numbers.map((number) => {
    const sampleWeight = batch.sampleWeight.map((weight, row) =>
      Math.floor(row / size) === number ? weight : 0,
    );
    const examples = sampleWeight.reduce((count, weight) => count + (weight > 0 ? 1 : 0), 0);
    return { ...batch, sampleWeight, examples };
  });
  return parts.filter(({ examples }) => examples > 0);
}

function clipped(gradient: Tensor, clip: number): Tensor {
  return mul(gradient, div(clip, maximum(norm(gradient), clip)));
}

interface GradientSums {
  readonly gradient: Tensor;
  readonly loss: Tensor;
  readonly metrics: Tensor | undefined;
}

/**
 * Returns what `gradientOf` returns for a batch, but the gradient is the sum of the microbatches' clipped ones and
 * noise. There is no new state, because a batch's statistics would be sent unclipped. Call it within a tidy.
 */
export function privateGradient(
  gradientOf: (batch: PreparedBatch) => Gradient,
  batch: PreparedBatch,
  trainable: number,
  { clip, noise, microbatch, microbatches: nominal }: Bound,
): Gradient {
  const run = (part: PreparedBatch): GradientSums => {
    const { gradient, loss, metrics } = gradientOf(part);
    return { gradient: clipped(gradient, clip), loss: mul(loss, part.examples), metrics };
  };
  const grow = (before: GradientSums, part: PreparedBatch): GradientSums => {
    const sums = tidy(() => {
      const { gradient, loss, metrics } = run(part);
      return {
        gradient: add(before.gradient, gradient),
        loss: add(before.loss, loss),
        ...(metrics && before.metrics && { metrics: add(before.metrics, metrics) }),
      };
    });
    for (const tensor of [before.gradient, before.loss, before.metrics]) tensor?.dispose();
    return { ...sums, metrics: sums.metrics };
  };
  const noised = tensor1d(gaussianNoise(trainable, noise * clip));
  const [first, ...others] = microbatches(batch, microbatch);
  if (first === undefined) throw new Error("A batch without examples cannot be trained on.");
  const { gradient, loss, metrics } = others.reduce(grow, run(first));
  return {
    gradient: div(add(gradient, noised), scalar(nominal)),
    loss: div(loss, Math.max(batch.examples, 1)),
    metrics,
    state: undefined,
  };
}
