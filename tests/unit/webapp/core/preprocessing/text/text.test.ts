import { describe, expect, it } from "vitest";
import type { TextSpec } from "../../../../../../webapp/static/src/core/preprocessing/declaration";
import { pieces } from "../../../../../../webapp/static/src/core/preprocessing/text/byte-pairs";
import { all, golden, read } from "../file-reading";
import { type Golden, vectors } from "../vectors";

interface Case {
  readonly fitted: TextSpec;
  readonly text: string;
  readonly name: string | null;
  readonly x?: readonly Golden[];
  readonly y?: readonly Golden[];
  readonly error?: boolean;
}

const cases = vectors<Case>("text");

describe("a text", () => {
  it.each(cases.filter(({ error }) => !error).map((one) => [one.text, one] as const))(
    "becomes the ids that Python makes of it: %j",
    async (_, one) => {
      const { understood } = await read(one.fitted, { [`${one.name ?? "texts"}/a.txt`]: one.text });
      const examples = await all(understood);
      expect(golden(examples, "x", one.x ?? [])).toEqual(one.x);
      expect(golden(examples, "y", one.y ?? [])).toEqual(one.y);
    },
  );

  it.each(cases.filter(({ error }) => error).map((one) => [one.text, one] as const))(
    "is refused where Python refuses it: %j",
    async (_, one) => {
      const { report } = await read(one.fitted, { [`${one.name ?? "texts"}/a.txt`]: one.text });
      expect(report.examples).toBe(0);
      expect(report.problems[0]?.where).toContain("a.txt");
    },
  );

  it("is cut before the space that follows a word", () => {
    expect(pieces(" the  cat\nsat")).toEqual([" the", "  cat", "\nsat"]);
  });

  it("in two files makes no window across both", async () => {
    const { fitted } = cases.find(({ fitted }) => fitted.tokenizer === "bytes") as Case;
    const parts = [{ shape: [2], dtype: "uint8" }] as const;
    const short = { ...fitted, length: 2, stride: 2, inputs: parts, labels: parts };
    const { understood } = await read(short, { "b.txt": "defg", "a.txt": "abc" }, { holdout: 0.5 });
    const { x } = await all(understood);
    expect(String.fromCharCode(...(x[0]?.values ?? []))).toBe("abde");
    expect([...understood.split.train, ...understood.split.holdout]).toEqual([0, 1]);
  });

  it("that is no UTF-8 is refused with a sentence", async () => {
    const { fitted } = cases[0] as Case;
    const { report } = await read(fitted, { "a.txt": Uint8Array.of(0x61, 0xff) });
    expect(report.problems[0]?.text).toMatch(/not text in UTF-8/);
  });
});
