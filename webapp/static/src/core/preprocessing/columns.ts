/** Collects the stored values of examples in columns. */

import type { ExampleColumn, Examples } from "../data/examples";
import { elements } from "../data/examples";
import type { Values } from "../data/shard";
import type { StoredSpec } from "./declaration";

const ARRAYS = { uint8: Uint8Array, int32: Int32Array, float32: Float32Array } as const;

/** The stored values of one example, by inputs and labels. */
export interface Example {
  readonly x: readonly ArrayLike<number>[];
  readonly y: readonly ArrayLike<number>[];
}

/** Returns zeros for `count` examples. */
export function emptyColumn({ dtype, shape }: StoredSpec, count: number): ExampleColumn {
  const width = elements(shape);
  return { values: new ARRAYS[dtype](count * width), width };
}

function column(spec: StoredSpec, parts: readonly ArrayLike<number>[]): ExampleColumn {
  const empty = emptyColumn(spec, parts.length);
  parts.forEach((part, i) => {
    (empty.values as Values).set(part, i * empty.width);
  });
  return empty;
}

/** Returns examples of weight 1 with these columns of inputs and labels. */
export function examplesOf(
  count: number,
  x: readonly ExampleColumn[],
  y: readonly ExampleColumn[],
): Examples {
  return { count, x, y, sampleWeight: new Float32Array(count).fill(1) };
}

/** Collects all examples in memory. */
export function collect(
  examples: readonly Example[],
  inputs: readonly StoredSpec[],
  labels: readonly StoredSpec[],
): Examples {
  const x = inputs.map((spec, i) =>
    column(
      spec,
      examples.map((one) => one.x[i] as ArrayLike<number>),
    ),
  );
  const y = labels.map((spec, i) =>
    column(
      spec,
      examples.map((one) => one.y[i] as ArrayLike<number>),
    ),
  );
  return examplesOf(examples.length, x, y);
}
