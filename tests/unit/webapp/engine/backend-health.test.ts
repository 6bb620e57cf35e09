import { describe, expect, it } from "vitest";
import { BackendFailure, failureOf } from "../../../../webapp/static/src/engine/backend-health";

describe("an error of a kernel", () => {
  it.each([
    ["memory", new RangeError("Array buffer allocation failed")],
    ["memory", new WebAssembly.RuntimeError("memory access out of bounds")],
    ["memory", new Error("Unable to create WebGLTexture.")],
    ["memory", new Error("Requested texture size [20000x20000] greater than WebGL maximum on this browser")],
    ["lost", new Error("WebGL context lost")],
    ["lost", new DOMException("The device was lost", "OperationError")],
  ])("is a failure of kind %s: %s", (kind, error) => {
    expect(failureOf(error)?.kind).toBe(kind);
  });

  it("that is another fault stays what it is", () => {
    expect(failureOf(new Error("The graph needs the input x_7, which this page does not know."))).toBeNull();
  });

  it("keeps a failure that was found already", () => {
    const failure = new BackendFailure("not-a-number");
    expect(failureOf(failure)).toBe(failure);
  });
});
