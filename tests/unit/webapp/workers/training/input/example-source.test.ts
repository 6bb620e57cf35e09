import { afterEach, describe, expect, it } from "vitest";
import type { Bundle } from "../../../../../../webapp/static/src/core/data/bundle";
import type { Examples } from "../../../../../../webapp/static/src/core/data/examples";
import type { TakeAnswer, TakeRequest } from "../../../../../../webapp/static/src/core/messages/local-data";
import { Preparation } from "../../../../../../webapp/static/src/workers/training/input/batch-order";
import { SourceFeed } from "../../../../../../webapp/static/src/workers/training/input/example-source";
import { LocalExamples } from "../../../../../../webapp/static/src/workers/training/input/local-data";

const bundle = {
  batch_size: 4,
  inputs: [{ name: "pixels", shape: [3], dtype: "float32" }],
  labels: [{ name: "class", shape: [], dtype: "int32", classes: 5 }],
  preprocess: { scale: 0.5 },
  random: [{ name: "random_0", shape: [4, 2], kind: "uniform" }],
} as unknown as Bundle;
const COUNT = 10;
const all: Examples = {
  count: COUNT,
  x: [{ values: Uint8Array.from({ length: 3 * COUNT }, (_, i) => i), width: 3 }],
  y: [{ values: Int32Array.from({ length: COUNT }, (_, i) => i % 5), width: 1 }],
  sampleWeight: new Float32Array(COUNT).fill(1),
};

function pick(rows: Uint32Array): Examples {
  const [pixels, classes] = [all.x[0]?.values, all.y[0]?.values];
  return {
    count: rows.length,
    x: [
      {
        values: Uint8Array.from([...rows].flatMap((r) => [...(pixels?.slice(3 * r, 3 * r + 3) ?? [])])),
        width: 3,
      },
    ],
    y: [{ values: Int32Array.from([...rows].map((row) => classes?.[row] ?? -1)), width: 1 }],
    sampleWeight: new Float32Array(rows.length).fill(1),
  };
}

let opened: MessagePort[] = [];
afterEach(() => {
  for (const port of opened) port.close();
  opened = [];
});

/** Own examples whose reader answers with `answer`. */
function own(answer: (request: TakeRequest) => TakeAnswer): {
  examples: LocalExamples;
  asked: TakeRequest[];
} {
  const asked: TakeRequest[] = [];
  const { port1, port2 } = new MessageChannel();
  port2.onmessage = ({ data }: MessageEvent<TakeRequest>) => {
    asked.push(data);
    port2.postMessage(answer(data));
  };
  opened.push(port1, port2);
  return { examples: new LocalExamples(port1, { train: COUNT, holdout: 2 }), asked };
}

describe("a feed from the volunteer's own files", () => {
  const walk = { epochs: 2, steps: 0, batchSize: 4, seed: 12345678901 };

  it("gives the very batches that examples in memory give", async () => {
    const { examples } = own(({ id, rows }) => ({ type: "taken", id, examples: pick(rows) }));
    const feed = new SourceFeed(bundle, examples.source("train"), walk);
    const inMemory = new Preparation(bundle, all, walk);
    expect(feed.steps).toBe(inMemory.steps);
    for (let step = 1; step <= feed.steps; step++) expect(await feed.next()).toEqual(inMemory.prepare(step));
    await expect(feed.next()).rejects.toThrow(/beyond the plan/);
  });

  it("asks at most two batches ahead, so that a large folder never lies in memory", async () => {
    const { examples, asked } = own(({ id, rows }) => ({ type: "taken", id, examples: pick(rows) }));
    const feed = new SourceFeed(bundle, examples.source("train"), walk);
    for (const step of [1, 2]) {
      await feed.next();
      // The reader has heard of everything that was asked for once it answers the last of it.
      await examples.source("holdout").take(Uint32Array.of(0));
      expect(asked.filter(({ part }) => part === "train").length).toBe(step + 2);
    }
  });

  it("tells the trainer why a file cannot be read any more", async () => {
    const { examples } = own(({ id }) => ({ type: "failed", id, problem: "dog.png is gone." }));
    const feed = new SourceFeed(bundle, examples.source("train"), walk);
    await expect(feed.next()).rejects.toThrow("dog.png is gone.");
  });

  it("ends requests under way when other files are chosen", async () => {
    const { port1, port2 } = new MessageChannel();
    opened.push(port1, port2);
    const examples = new LocalExamples(port1, { train: COUNT, holdout: 0 });
    const taken = examples.source("train").take(Uint32Array.of(0));
    examples.close();
    await expect(taken).rejects.toThrow(/Other files/);
  });
});
