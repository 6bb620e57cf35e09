import "@tensorflow/tfjs-backend-cpu";
import { setBackend, tensor, tensor2d } from "@tensorflow/tfjs-core";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { hashOf, readValue } from "../../../../../../webapp/static/src/workers/training/tracing/tensor-hash";

beforeAll(() => setBackend("cpu"));

describe("a tensor's hash", () => {
  it("is that of its type, shape and values, as the peer computes it", async () => {
    const value = readValue("train/x", tensor2d([1, 2, 3, 4, 5, 6], [2, 3]));
    // tests/unit/protocols/replay/test_bisection.py has the same.
    expect(await hashOf(value)).toBe("8854862d401c78c8cab0e6445b0a49448d08c18e8b49b92dca45c989c653ef37");
  });

  it("tells shapes and types apart", async () => {
    const values = [
      tensor([1, 2]),
      tensor([[1, 2]]),
      tensor([1, 2], [2], "int32"),
      tensor([1, 2], [2], "bool"),
    ];
    const hashes = await Promise.all(values.map((value) => hashOf(readValue("x", value))));
    expect(new Set(hashes).size).toBe(4);
  });

  it("is refused on a page without cryptography", async () => {
    vi.stubGlobal("crypto", {});
    await expect(hashOf(readValue("x", tensor([1])))).rejects.toThrow("open it by https");
    vi.unstubAllGlobals();
  });
});
