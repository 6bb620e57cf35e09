import { expect, test } from "vitest";
import { workerPlan } from "../../../../../webapp/static/src/client/session/plan";
import type { Train } from "../../../../../webapp/static/src/protocol/rounds/participant-events";

const HASH = "a".repeat(64);
const PLAN: Train = {
  type: "train",
  round: 3,
  version: 2,
  weights: HASH,
  epochs: 1,
  steps: 0,
  batch_size: 32,
  learning_rate: 0.1,
  past_steps: 0,
  seed: 7,
  proximal_mu: 0,
  control: null,
  masking: null,
  privacy: null,
  shards: [{ sha256: HASH, examples: 64 }],
  seconds: 30,
};
const MASKING = {
  bits: 32,
  clip: 1,
  examples: 64,
  noise: 0,
  share: 1,
  min_clients: 3,
  server: "active",
} as const;

function seeds(plan: Train): Set<number> {
  return new Set(Array.from({ length: 20 }, () => workerPlan(plan, null, 0).seed));
}

test("in an open round the plan's seed orders the examples", () => {
  expect(seeds(PLAN)).toEqual(new Set([7]));
});

test("in a masked round the browser draws the seed, so that a server cannot have an update made again", () => {
  const drawn = [...seeds({ ...PLAN, masking: MASKING })];
  expect(drawn.length).toBeGreaterThan(18);
  expect(drawn.every((seed) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31)).toBe(true);
});

const OFF = { clip: 0, noise: 0, example_clip: 0, example_noise: 0, microbatch: 0 };

test.each([null, MASKING])("noise on whole updates is added with and without masks", (masking) => {
  const { protection } = workerPlan({ ...PLAN, masking, privacy: { ...OFF, clip: 2, noise: 5 } }, null, 0);
  expect(protection).toEqual({ clip: 2, noise: 5 });
});

test.each([null, MASKING])("noise on gradients is added with and without masks", (masking) => {
  const examples = { ...OFF, example_clip: 2, example_noise: 5, microbatch: 1 };
  const { privacy, protection } = workerPlan({ ...PLAN, masking, privacy: examples }, null, 0);
  expect(privacy).toEqual({ clip: 2, noise: 5, microbatch: 1 });
  expect(protection).toBeNull();
});
