import { describe, expect, it } from "vitest";
import { type Failure, recover, type Setup } from "../../../../webapp/static/src/core/backend-recovery";

const automatic: Setup = { backend: null, avoid: [], sliced: null };
const failure = (change: Partial<Failure>): Failure => ({
  kind: "lost",
  backend: "webgl",
  sliced: false,
  sliceable: false,
  ...change,
});

describe("after a failed backend", () => {
  it("a lost GPU gets one more chance", () => {
    expect(recover(automatic, [failure({})])).toEqual({ backend: "webgl", avoid: [], sliced: false });
  });

  it("a GPU that is lost again is avoided", () => {
    const again = recover({ ...automatic, backend: "webgl" }, [failure({}), failure({})]);
    expect(again).toEqual({ backend: null, avoid: ["webgl"], sliced: null });
  });

  it("want of memory is met with slices where the bundle has them", () => {
    const sliced = recover(automatic, [failure({ kind: "memory", backend: "wasm", sliceable: true })]);
    expect(sliced).toEqual({ backend: "wasm", avoid: [], sliced: true });
  });

  it("want of memory even in slices moves them to another backend", () => {
    const next = recover(automatic, [failure({ kind: "memory", sliced: true, sliceable: true })]);
    expect(next).toEqual({ backend: null, avoid: ["webgl"], sliced: true });
  });

  it("another choice still prefers the same bits", () => {
    const preferring: Setup = { ...automatic, preferExact: true };
    expect(recover(preferring, [failure({ kind: "memory" })])?.preferExact).toBe(true);
  });

  it("a GPU whose loss is no number is avoided", () => {
    expect(recover(automatic, [failure({ kind: "not-a-number" })])?.avoid).toEqual(["webgl"]);
  });

  it("WASM's loss is the training's own fault", () => {
    expect(recover(automatic, [failure({ kind: "not-a-number", backend: "wasm" })])).toBeNull();
    expect(recover(automatic, [failure({ kind: "memory", backend: "wasm" })])).toBeNull();
  });

  it("exact results are never taken in slices, which would change their bits", () => {
    expect(recover(automatic, [failure({ kind: "memory", backend: "exact", sliceable: true })])).toBeNull();
  });

  it("it gives up after five failures", () => {
    expect(recover(automatic, Array(5).fill(failure({ kind: "memory", sliceable: true })))).toBeNull();
  });
});
