import { describe, expect, test } from "vitest";
import { UpdateCache } from "../../../../../webapp/static/src/client/session/update-cache";
import type { TrainingResult } from "../../../../../webapp/static/src/client/workers/training-worker";
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
const NEXT: Train = { ...PLAN, round: 4, seed: 8, seconds: 12.5 };
const MASKED = {
  bits: 32,
  clip: 1,
  examples: 64,
  noise: 0,
  share: 1,
  min_clients: 3,
  server: "honest",
} as const;

function done(steps = 2): TrainingResult {
  const update = Float32Array.of(1, 2, 3).buffer;
  const counts = { examples: 64, steps, planned: 2, loss: 0.5, sums: [], stepMs: 1, checkpoints: [] };
  return { type: "trained", id: 1, update, local: null, change: null, ...counts };
}

function kept(trained = done()): UpdateCache {
  const one = new UpdateCache();
  one.keep(PLAN, trained);
  return one;
}

describe("A finished training", () => {
  test("is handed in again in the next round", () => {
    expect(kept().take(NEXT)).toEqual(done());
  });

  test("is neither kept for a masked round nor from one", () => {
    expect(kept().take({ ...NEXT, masking: MASKED })).toBeNull();
    const one = new UpdateCache();
    one.keep({ ...PLAN, masking: MASKED }, done());
    expect(one.take(NEXT)).toBeNull();
  });

  test("is handed in again after the masks were made of its buffer", () => {
    const trained = done();
    const one = kept(trained);
    structuredClone(trained.update, { transfer: [trained.update] });
    expect(one.take(NEXT)).toEqual(done());
    expect(one.take(NEXT)).toEqual(done());
  });

  test.each([
    { version: 3 },
    { weights: "b".repeat(64) },
    { epochs: 2 },
    { learning_rate: 0.2 },
    { control: HASH },
    { shards: [] },
  ])("does not stand for other work: %o", (change) => {
    expect(kept().take({ ...NEXT, ...change })).toBeNull();
  });

  test("is not kept if it was cut short", () => {
    expect(kept(done(1)).take(NEXT)).toBeNull();
  });

  test.each(["not-finite", "norm-too-large"])("is forgotten once it is found bad: %s", (code) => {
    const one = kept();
    one.takeFrame({ type: "refused", round: 3, code, reason: "Lower the learning rate." });
    expect(one.take(NEXT)).toBeNull();
  });

  test("is forgotten with a new version, and with the visit", () => {
    const [stale, over] = [kept(), kept()];
    const counts = { accepted: 2, examples: 9, loss: 0.1, metrics: {} };
    stale.takeFrame({ type: "version", version: 3, round: 3, weights: HASH, ...counts });
    over.forget();
    expect([stale.take(NEXT), over.take(NEXT)]).toEqual([null, null]);
  });

  test("survives the news that it came too late", () => {
    const one = kept();
    one.takeFrame({ type: "refused", round: 3, code: "stale-round", reason: "Round 3 ended." });
    expect(one.take(NEXT)).toEqual(done());
  });
});
