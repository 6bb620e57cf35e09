import { afterEach, describe, expect, test } from "vitest";
import { Exchange, type GroupOutcome } from "../../../../../webapp/static/src/client/mesh/exchange";
import type { Bytes } from "../../../../../webapp/static/src/core/crypto/bytes";
import { shares } from "../../../../../webapp/static/src/core/numerics/aggregation/part-mean";
import { pieceWords } from "../../../../../webapp/static/src/core/numerics/masking/masked-parts";
import type { GroupOrder } from "../../../../../webapp/static/src/protocol/wire/mesh";
import { clients, frames, linkAll, type Meddle, Member, OF, orderFor, vectorOf } from "./member";
import { averagingWorker } from "./workers";

const SIZE = 50_000;
const WEIGHTS = [10, 20, 30, 40, 50];

let members: Member[] = [];
afterEach(() => {
  for (const member of members) member.close();
  members = [];
});

/** Members begin to average; `meddle` is what happens to frames on their way in at each place. */
async function begin(order: GroupOrder, meddle: Readonly<Record<number, Meddle>> = {}) {
  members = order.members.map((client, place) => new Member(client, meddle[place]));
  await linkAll(members);
  return members.map((member, place) => {
    const result = member.average(order, vectorOf(place, SIZE), WEIGHTS[place] as number);
    // Looked at later.
    result.catch(() => undefined);
    return result;
  });
}

/** How far `mean` is from the weighted mean of the vectors of `places`, at most. */
function error(mean: Float32Array, places: readonly number[]): number {
  const each = shares(places.map((place) => WEIGHTS[place] as number));
  const vectors = places.map((place) => vectorOf(place, SIZE));
  return Math.max(
    ...mean.map((value, i) => {
      const wanted = vectors.reduce(
        (sum, vector, at) => sum + (vector[i] as number) * (each[at] as number),
        0,
      );
      return Math.abs(value - wanted);
    }),
  );
}

function expectEqual(outcomes: readonly GroupOutcome[]): GroupOutcome {
  const [first, ...others] = outcomes as [GroupOutcome, ...GroupOutcome[]];
  for (const { mean, survivors, fraction } of others) {
    expect(Buffer.compare(Buffer.from(mean.buffer), Buffer.from(first.mean.buffer))).toBe(0);
    expect({ survivors, fraction }).toEqual({ survivors: first.survivors, fraction: first.fraction });
  }
  return first;
}

describe("A group over sockets", () => {
  test.each([
    [2, "full", "float32", 1e-6],
    [3, "full", "int8", 0.01],
    [4, "butterfly", "float32", 1e-6],
    [4, "butterfly", "float16", 1e-3],
    [5, "butterfly", "int8", 0.02],
    [4, "ring", "float32", 1e-6],
    [3, "ring", "float16", 2e-3],
    [3, "butterfly", "masked", 1e-6],
    [5, "butterfly", "masked", 1e-6],
  ] as const)("of %d with the exchange %s in %s has one mean", async (count, exchange, precision, most) => {
    const outcomes = await Promise.all(await begin(orderFor(count, SIZE, { exchange, precision })));
    const { mean, survivors, fraction } = expectEqual(outcomes);
    expect(survivors).toEqual(members.map((_, place) => place));
    expect(fraction).toBe(1);
    expect(error(mean, survivors)).toBeLessThan(most);
  });

  test.each([
    [0, 1],
    [0, 9],
    [2, 2],
    [2, 12],
    [4, 6],
  ])("goes on without the member at place %d, whose links break after %d frames", async (lost, count) => {
    const { promise, meddle } = frames(count);
    const results = await begin(orderFor(5, SIZE), { [lost]: meddle });
    await promise;
    members[lost]?.close();
    const outcome = expectEqual(await Promise.all(results.filter((_, place) => place !== lost)));
    // It may have shown its piece of some parts before, or of all.
    const without = 1 - (WEIGHTS[lost] as number) / 150;
    expect(outcome.fraction).toBeGreaterThanOrEqual(without - 1e-9);
    if (outcome.fraction < without + 1e-9) {
      expect(error(outcome.mean, outcome.survivors)).toBeLessThan(1e-3);
    }
    await expect(results[lost]).rejects.toThrow("left before it ended");
  });

  test.each([0, 3])("that masks its pieces goes on without the member at place %d", async (lost) => {
    const { promise, meddle } = frames(9);
    const results = await begin(orderFor(5, SIZE, { precision: "masked" }), { [lost]: meddle });
    await promise;
    members[lost]?.close();
    const outcome = expectEqual(await Promise.all(results.filter((_, place) => place !== lost)));
    const without = 1 - (WEIGHTS[lost] as number) / 150;
    expect(outcome.fraction).toBeGreaterThanOrEqual(without - 1e-9);
    if (outcome.fraction < without + 1e-9) {
      expect(error(outcome.mean, outcome.survivors)).toBeLessThan(1e-6);
    }
    await expect(results[lost]).rejects.toThrow("left before it ended");
  });

  test("that masks its pieces shows an owner nothing but their sum", async () => {
    const came: Bytes[] = [];
    const look: Meddle = (frame) => {
      if (frame.type === "piece") came.push(frame.data.slice());
      return frame;
    };
    const order = orderFor(3, SIZE, { precision: "masked" });
    expectEqual(await Promise.all(await begin(order, { 0: look })));
    const each = shares(WEIGHTS.slice(0, 3));
    const words = [1, 2].map((place) => pieceWords(vectorOf(place, SIZE), each[place] as number, "changes"));
    const bare = new Set(words.flatMap((all) => [...all.subarray(0, order.bounds[1])]));
    const seen = came.flatMap((data) => [...new Uint32Array(data.buffer)]);
    expect(seen.length).toBe(2 * (order.bounds[1] as number));
    // Of 14,000 words that are drawn evenly of 2^32, one of as many others is found once in twenty times.
    expect(seen.filter((word) => bare.has(word)).length).toBeLessThan(10);
  });

  test("finishes in spite of a link that breaks, and comes back", async () => {
    const { promise, meddle } = frames(3);
    const results = await begin(orderFor(4, SIZE, { patience: 10 }), { 0: meddle });
    await promise;
    const [first, second] = members as [Member, Member];
    first.links.cut(second.client);
    await new Promise((resolve) => setTimeout(resolve, 100));
    first.links.connect(second.links.port);
    const { survivors, fraction } = expectEqual(await Promise.all(results));
    expect(survivors).toEqual([0, 1, 2, 3]);
    expect(fraction).toBe(1);
  });

  test("goes on without a member whose pieces are not what it committed itself to", async () => {
    const [, , wrong] = clients(3);
    const spoil: Meddle = (frame, from) =>
      from === wrong && frame.type === "piece" && frame.offset === 0 && frame.data.length > 0
        ? { ...frame, data: frame.data.map((byte, i) => (i === 0 ? byte ^ 1 : byte)) }
        : frame;
    const results = await begin(orderFor(4, SIZE), { 0: spoil, 1: spoil, 3: spoil });
    const outcomes = await Promise.all(results.filter((_, place) => place !== 2));
    const { mean, survivors } = expectEqual(outcomes);
    expect(survivors).toEqual([0, 1, 3]);
    expect(error(mean.subarray(0, 7000), [0, 1, 3])).toBeLessThan(1e-3);
    await expect(results[2]).rejects.toMatchObject({ name: "GroupError" });
  });

  test("goes on without a member whose vector is no number any more", async () => {
    const order = orderFor(3, SIZE);
    members = order.members.map((client) => new Member(client));
    await linkAll(members);
    const results = members.map((member, place) => {
      const vector = vectorOf(place, SIZE);
      if (place === 1) vector[5] = Number.NaN;
      return member.average(order, vector, WEIGHTS[place] as number);
    });
    const [first, second, third] = await Promise.allSettled(results);
    expect(second).toMatchObject({ status: "rejected", reason: { name: "GroupError" } });
    expect(String((second as PromiseRejectedResult).reason)).toMatch(/learning rate/);
    const outcomes = [first, third].map((one) => (one as PromiseFulfilledResult<GroupOutcome>).value);
    const { mean, survivors, fraction } = expectEqual(outcomes);
    expect(survivors).toEqual([0, 2]);
    expect(fraction).toBeGreaterThan(0);
    expect(error(mean, [0, 2])).toBeLessThan(1e-3);
  });

  test("knows that it failed where too few are left", async () => {
    const results = await begin(orderFor(4, SIZE, { least: 3 }));
    members[2]?.close();
    members[3]?.close();
    const outcomes = await Promise.allSettled(results.slice(0, 2));
    const reasons = outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason?.name);
    expect(reasons).toEqual(["GroupError", "GroupError"]);
  });
});

test("a group of two masks nothing, since each would know the other's values", async () => {
  const worker = await averagingWorker();
  const [own] = clients(1) as [string];
  const member = new Member(own);
  const options = { ...OF, own, vector: vectorOf(0, SIZE), weight: 1, links: member.links, worker };
  const order = orderFor(2, SIZE, { precision: "masked" });
  expect(() => new Exchange({ ...options, order })).toThrow("needs 3");
  worker.terminate();
});

test("an order that contradicts itself is refused", async () => {
  const order = { ...orderFor(3, SIZE), bounds: [0, SIZE] };
  const [own] = clients(1) as [string];
  const worker = await averagingWorker();
  const member = new Member(own);
  const options = { order, ...OF, own, vector: vectorOf(0, SIZE), weight: 1, links: member.links, worker };
  expect(() => new Exchange(options)).toThrow(RangeError);
  worker.terminate();
});
