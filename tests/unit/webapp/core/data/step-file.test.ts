import { expect, test } from "vitest";
import { floats, readStep, relativeError } from "../../../../../webapp/static/src/core/data/step-file";

/** A file as converter/step_file.py writes it. */
function file(header: object, values: ArrayBufferLike): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const length = Math.ceil(text.length / 8) * 8;
  const bytes = new Uint8Array(8 + length + values.byteLength).fill(32);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
  bytes.set(text, 8);
  bytes.set(new Uint8Array(values), 8 + length);
  return bytes.buffer;
}

const HEADER = {
  x_0: { dtype: "F32", shape: [1, 2], data_offsets: [0, 8] },
  y_0: { dtype: "I32", shape: [], data_offsets: [8, 12] },
};

test("a step has its arrays by their names", () => {
  const values = new DataView(new ArrayBuffer(12));
  values.setFloat32(0, 0.5, true);
  values.setFloat32(4, -2, true);
  values.setInt32(8, 7, true);
  const step = readStep(file(HEADER, values.buffer));
  expect([...floats(step, "x_0")]).toEqual([0.5, -2]);
  expect([...(step.get("y_0") ?? [])]).toEqual([7]);
  expect(() => floats(step, "y_0")).toThrow("not of this model");
  expect(() => floats(step, "gradient")).toThrow("not of this model");
});

test.each([
  ["nothing", new ArrayBuffer(0)],
  ["too short a file", file(HEADER, new ArrayBuffer(4))],
  ["a header that is too long", new BigUint64Array([1n << 40n]).buffer],
  [
    "values of another type",
    file({ x: { dtype: "F64", shape: [1], data_offsets: [0, 8] } }, new ArrayBuffer(8)),
  ],
  [
    "another length than the shape",
    file({ x: { dtype: "F32", shape: [3], data_offsets: [0, 8] } }, new ArrayBuffer(8)),
  ],
])("%s is no step", (_what, bytes) => {
  expect(() => readStep(bytes)).toThrow("damaged");
});

test("how far a gradient is off is told by its length", () => {
  expect(relativeError([3, 4], [3, 4])).toBe(0);
  expect(relativeError([3, 9], [3, 4])).toBeCloseTo(1);
  expect(relativeError([0, 0], [3, 4])).toBe(1);
  expect(relativeError([1e-9], [0])).toBeLessThan(1e-2);
  expect(relativeError([Number.NaN], [1])).toBeNaN();
  expect(relativeError([1], [1, 2])).toBeNaN();
});
