import { describe, expect, it } from "vitest";
import { byVersion } from "../../../../../webapp/static/src/ui/train/local-rounds";

describe("the curve of all and this device's own", () => {
  it("have a place for every version that either knows, in order", () => {
    const ours = new Map([
      [10, "j"],
      [2, "b"],
    ]);
    const mine = new Map([
      [3, "C"],
      [10, "J"],
    ]);
    expect(byVersion(ours, mine)).toEqual([
      [2, "b", null],
      [3, null, "C"],
      [10, "j", "J"],
    ]);
  });

  it("are that of all alone where this device learned nothing yet", () => {
    expect(byVersion(new Map([[1, "a"]]), new Map())).toEqual([[1, "a", null]]);
  });
});
