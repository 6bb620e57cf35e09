import { expect, test } from "vitest";
import {
  type ShowFrame,
  ShownBytes,
} from "../../../../../../webapp/static/src/client/mesh/byzantine/shown-bytes";

const DIGEST = new Uint8Array(32).fill(7);

function chunk(offset: number, data: readonly number[], size = 4, digest = DIGEST): ShowFrame {
  return {
    type: "show",
    round: 1,
    group: 1,
    digest,
    size,
    offset,
    data: Uint8Array.from(data),
  };
}

test("chunks make up the bytes, again after a broken link", () => {
  const shown = new ShownBytes(4);
  expect(shown.take(chunk(0, [1, 2]))).toBeNull();
  shown.clear();
  expect(() => shown.take(chunk(2, [3, 4]))).toThrow(RangeError);
  expect(shown.take(chunk(0, [1, 2]))).toBeNull();
  expect(shown.take(chunk(2, [3, 4]))).toEqual(Uint8Array.of(1, 2, 3, 4));
});

test("no bytes at all are one empty chunk", () => {
  expect(new ShownBytes(4).take(chunk(0, [], 0))).toEqual(new Uint8Array());
});

test("chunks out of order, beyond the end, or of another size are refused", () => {
  const shown = new ShownBytes(8);
  expect(() => shown.take(chunk(1, [1]))).toThrow("out of order");
  shown.take(chunk(0, [1]));
  expect(() => shown.take(chunk(1, [2, 3, 4, 5]))).toThrow("out of order");
  expect(() => shown.take(chunk(1, [2], 8))).toThrow("out of order");
});

test("what does not end is dropped when the next begins: else any number could take memory", () => {
  const shown = new ShownBytes(8);
  shown.take(chunk(0, [1]));
  shown.take(chunk(0, [2], 4, new Uint8Array(32).fill(8)));
  expect(() => shown.take(chunk(1, [1]))).toThrow("out of order");
});

test("nobody sends more than a round has", () => {
  expect(() => new ShownBytes(4).take(chunk(0, [1], 5))).toThrow("more bytes");
  const shown = new ShownBytes(4);
  for (let time = 0; time < 6; time++) shown.take(chunk(0, [1, 2, 3, 4]));
  expect(() => shown.take(chunk(0, [1]))).toThrow("more bytes");
});
