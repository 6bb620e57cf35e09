import { expect, test } from "vitest";
import { checkpointName, leaseOf } from "../../../../../webapp/static/src/core/data/checkpoint-folder";
import type { TrainingState } from "../../../../../webapp/static/src/core/messages/training";
import {
  decodeState,
  encodeState,
  storedStates,
} from "../../../../../webapp/static/src/workers/training/checkpoint-file";
import { MetricSums } from "../../../../../webapp/static/src/workers/training/metric-sums";

const KEY = "a".repeat(64);
const SIZES = { weights: 3, slots: 2 };
const STATE: TrainingState = {
  steps: 12,
  weights: Float32Array.of(0.1, -0, 3e-42).buffer,
  slots: Float32Array.of(1 / 7, 2).buffer,
  totals: Float64Array.of(384, 1 / 3, 5, 7).buffer,
  hashes: ["d".repeat(64)],
};

test("a checkpoint has every bit of the state", async () => {
  expect(await decodeState(await encodeState(KEY, "wasm", STATE), KEY, "wasm", SIZES)).toEqual(STATE);
});

test("a checkpoint of another unit, backend or model is not continued", async () => {
  const file = await encodeState(KEY, "wasm", STATE);
  expect(await decodeState(file, "b".repeat(64), "wasm", SIZES)).toBeNull();
  expect(await decodeState(file, KEY, "webgl", SIZES)).toBeNull();
  expect(await decodeState(file, KEY, "wasm", { ...SIZES, slots: 0 })).toBeNull();
});

test("a torn or changed file is not continued", async () => {
  const file = await encodeState(KEY, "wasm", STATE);
  for (let place = 0; place < file.length; place++) {
    const changed = file.slice();
    changed[place] = (changed[place] as number) ^ 1;
    expect(await decodeState(changed, KEY, "wasm", SIZES)).toBeNull();
    expect(await decodeState(file.slice(0, place), KEY, "wasm", SIZES)).toBeNull();
  }
});

test("a browser without files for the site trains without checkpoints", async () => {
  const saver = await storedStates({ task: "digits", key: KEY, lease: 1 }, 0, "wasm", SIZES);
  expect(saver.start).toBeNull();
  expect(saver.isDue).toBe(false);
});

test("a file's name tells its lease", () => {
  expect(leaseOf(checkpointName(KEY, 16_777_216, 1))).toBe(16_777_216);
  expect(leaseOf("something else")).toBeNull();
});

test("sums continue from a saved state", () => {
  const sums = new MetricSums();
  sums.add([0.1, 3, 4], 4);
  const again = MetricSums.from({ steps: sums.steps, totals: sums.totals.buffer });
  for (const one of [sums, again]) one.add([0.7, 1, 3], 3);
  expect(again).toEqual(sums);
  expect([again.examples, again.steps, again.sums]).toEqual([7, 2, [[4, 7]]]);
});
