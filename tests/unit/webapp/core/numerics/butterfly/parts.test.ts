import { describe, expect, test } from "vitest";
import { cut, joined, partBounds } from "../../../../../../webapp/static/src/core/numerics/butterfly/parts";

function valuesOf(pieces: readonly Uint8Array[]): Float32Array[] {
  return pieces.map((piece) => new Float32Array(piece.slice().buffer));
}

describe("The parts of a vector", () => {
  test("take turns in its values", () => {
    const vector = Float32Array.from({ length: 8 }, (_, i) => i);
    expect(valuesOf(cut(vector, 3)).map((piece) => [...piece])).toEqual([
      [0, 3, 6],
      [1, 4, 7],
      [2, 5],
    ]);
    expect(partBounds(8, 3)).toEqual([0, 3, 6, 8]);
  });

  test.each([
    [0, 3],
    [2, 5],
    [7, 1],
    [3001, 16],
  ])("of %i values, %i of them, give it back", (size, parts) => {
    const vector = Float32Array.from({ length: size }, (_, i) => i + 0.5);
    const pieces = valuesOf(cut(vector, parts));
    const bounds = partBounds(size, parts);
    expect(pieces.map((piece) => piece.length)).toEqual(
      bounds.slice(1).map((end, part) => end - (bounds[part] as number)),
    );
    expect(bounds.at(-1)).toBe(size);
    expect(joined(pieces)).toEqual(vector);
  });

  test("can be none", () => {
    expect(cut(Float32Array.of(1, 2), 0)).toEqual([]);
    expect(partBounds(2, 0)).toEqual([0]);
  });
});
