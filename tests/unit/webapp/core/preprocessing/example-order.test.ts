import { describe, expect, it } from "vitest";
import {
  byCodePoints,
  heldOut,
  splitShuffled,
  splitWindows,
} from "../../../../../webapp/static/src/core/preprocessing/example-order";

describe("the order of files", () => {
  it("is that of code points, as in Python, not that of UTF-16", () => {
    const names = ["\u{1f600}", "\uffee", "é", "b/2", "b", "Z"];
    expect(names.sort(byCodePoints)).toEqual(["Z", "b", "b/2", "é", "\uffee", "\u{1f600}"]);
  });
});

describe("the held-out part", () => {
  it.each([
    [0, 0.1, 0],
    [1, 0.5, 0],
    [2, 0.1, 1],
    [10, 0, 0],
    [25, 0.1, 2],
  ])("of %i examples at %f is %i", (n, share, held) => {
    expect(heldOut(n, share)).toBe(held);
  });

  it("is the same at every visit, and shares nothing with the rest", () => {
    const { train, holdout } = splitShuffled(30, 0.2);
    expect(splitShuffled(30, 0.2)).toEqual({ train, holdout });
    expect([...train, ...holdout].sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, i) => i));
    expect(holdout.length).toBe(6);
    expect([...train]).toEqual([...train].sort((a, b) => a - b));
  });

  it("of a text is its end, and no window before it knows a token of it", () => {
    const starts = [0, 2, 4, 6, 8, 10];
    const { train, holdout } = splitWindows(starts, 4, 0.2);
    expect([...holdout]).toEqual([5]);
    expect([...train]).toEqual([0, 1, 2]);
  });
});
