import { expect, it } from "vitest";
import { lowerCase } from "../../../../../../webapp/static/src/core/preprocessing/text/code-points";
import { vectors } from "../vectors";

it("letters turn small just as in Python", () => {
  const [{ pairs } = { pairs: [] }] = vectors<{ pairs: [number, number][] }>("lower");
  const small = new Map(pairs);
  expect(small.size).toBeGreaterThan(500);
  for (let code = 0; code < 0x3000; code++) {
    const letter = lowerCase(String.fromCodePoint(code));
    expect([code, letter.codePointAt(0)]).toEqual([code, small.get(code) ?? code]);
  }
  expect(lowerCase("\u{10400}")).toBe("\u{10400}");
});
