/** Batches prepared by a pool of workers beside those prepared on the spot. */

import type { Bundle } from "../../../../../webapp/static/src/core/data/bundle";
import type { Examples } from "../../../../../webapp/static/src/core/data/examples";
import type { PreparedBatch } from "../../../../../webapp/static/src/workers/training/input/batch-order";
import { type Feed, openFeed } from "../../../../../webapp/static/src/workers/training/input/feed";

const bundle = {
  batch_size: 4,
  inputs: [
    { name: "pixels", shape: [3], dtype: "float32" },
    { name: "tokens", shape: [], dtype: "int32" },
  ],
  labels: [{ name: "class", shape: [], dtype: "int32", classes: 5 }],
  preprocess: { scale: 0.5 },
  random: [{ name: "random_0", shape: [4, 2], kind: "uniform" }],
} as unknown as Bundle;

function examplesOf(count: number): Examples {
  const counting = Int32Array.from({ length: 3 * count }, (_, i) => i);
  return {
    count,
    x: [
      { values: Uint8Array.from(counting), width: 3 },
      { values: counting.slice(0, count), width: 1 },
    ],
    y: [{ values: counting.slice(0, count).map((n) => n % 5), width: 1 }],
    sampleWeight: Float32Array.from({ length: count }, (_, i) => (i === 2 ? 0 : 1)),
  };
}

async function drain(feed: Feed, begun: number): Promise<PreparedBatch[]> {
  const batches: PreparedBatch[] = [];
  for (let step = begun + 1; step <= feed.steps; step++) batches.push(await feed.next());
  feed.close();
  return batches;
}

interface FeedQuestion {
  readonly feeders: readonly number[];
  readonly firstStep?: number;
  readonly begun?: number;
}

/** All batches of a plan as text, once for each number of feeders, after the first `begun` steps. */
export async function feeds({ feeders, firstStep = 0, begun = 0 }: FeedQuestion): Promise<string[]> {
  const walk = { epochs: 3, steps: 0, batchSize: 4, seed: 12345678901, firstStep };
  return Promise.all(
    feeders.map(async (count) =>
      JSON.stringify(await drain(openFeed(bundle, examplesOf(18), walk, count, begun), begun)),
    ),
  );
}
