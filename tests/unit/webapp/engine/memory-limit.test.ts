import "@tensorflow/tfjs-backend-cpu";
import { fill, setBackend, tidy } from "@tensorflow/tfjs-core";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { BackendFailure } from "../../../../webapp/static/src/engine/backend-health";
import { limitMemory, mostBytes } from "../../../../webapp/static/src/engine/memory-limit";

const FLOATS = 256;

describe("a backend whose tensors may take 1,024 bytes", () => {
  beforeAll(async () => {
    await setBackend("cpu");
    limitMemory(4 * FLOATS);
    // The first limit counts.
    limitMemory(8 * FLOATS);
  });

  it("takes as many", () => {
    expect(tidy(() => fill([FLOATS], 1).size)).toBe(FLOATS);
  });

  it("throws for one more", () => {
    expect(() => tidy(() => fill([FLOATS + 1], 1))).toThrow(BackendFailure);
  });

  it("counts those that live", () => {
    const half = () => fill([FLOATS / 2], 1);
    tidy(() => {
      half();
      half();
      expect(half).toThrow("does not have enough memory");
    });
    expect(tidy(() => half().size)).toBe(FLOATS / 2);
  });
});

describe("the limit of a page", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  it.each([
    [3, {}],
    [6, { deviceMemory: 8 }],
    [0.375, { deviceMemory: 0.5 }],
  ])("is %d GiB where the browser tells %o", (gib, navigator) => {
    vi.stubGlobal("navigator", navigator);
    expect(mostBytes()).toBe(gib * 2 ** 30);
  });
});
