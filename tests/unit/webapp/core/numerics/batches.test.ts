import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batches, permutation } from "../../../../../webapp/static/src/core/numerics/batches";
import { BatchOrder } from "../../../../../webapp/static/src/workers/training/input/batch-order";
import golden from "../../../../contract/vectors/batches.json";
import walks from "../../../../contract/vectors/walks.json";

describe("batches", () => {
  it.each(golden)("walks through $examples examples as Python does (seed $seed, epoch $epoch)", (order) => {
    const walked = batches(order.seed, order.epoch, order.examples, order.batch_size);
    expect(walked.map((rows) => Array.from(rows))).toEqual(order.batches);
  });

  it("visits every example once in each epoch", () => {
    fc.assert(
      fc.property(
        fc.maxSafeNat(),
        fc.integer({ min: 1, max: 1000 }),
        fc.nat({ max: 300 }),
        (seed, epoch, n) => {
          const order = Array.from(permutation(seed, epoch, n));
          expect(order.sort((a, b) => a - b)).toEqual(Array.from({ length: n }, (_, i) => i));
        },
      ),
    );
  });

  it("refuses more examples than it can shuffle exactly", () => {
    expect(() => permutation(1, 1, 2 ** 21 + 1)).toThrow(/plan fewer shards/);
  });
});

describe("walks", () => {
  it.each(walks)(
    "takes $steps steps or $epochs epochs of $examples examples after $first_step as Python does",
    (walk) => {
      const { seed, epochs, steps, batch_size: batchSize, first_step: firstStep, examples } = walk;
      const order = new BatchOrder(examples, { seed, epochs, steps, batchSize, firstStep });
      const taken = Array.from({ length: order.steps }, (_, i) => Array.from(order.rows(i + 1)));
      expect(taken).toEqual(walk.batches);
    },
  );
});
