import { describe, expect, it } from "vitest";
import type { ImageSpec } from "../../../../../../webapp/static/src/core/preprocessing/declaration";
import { imageValues } from "../../../../../../webapp/static/src/core/preprocessing/images/image";
import { vectors } from "../vectors";

interface Case {
  readonly fitted: ImageSpec;
  readonly pixels: { readonly width: number; readonly height: number; readonly rgba: readonly number[] };
  readonly orientation: number;
  readonly values: readonly number[];
}

// A browser's decoder turns pictures itself, so turned ones never reach this code.
const upright = vectors<Case>("image").filter(({ orientation }) => orientation === 1);

describe("a decoded picture", () => {
  it.each(upright.map((one) => [nameOf(one), one] as const))(
    "becomes the very bytes that Python makes of it: %s",
    (_, { fitted, pixels, values }) => {
      const { width, height, rgba } = pixels;
      const source = { width, height, channels: 4, values: Uint8Array.from(rgba) };
      expect(Array.from(imageValues(source, fitted))).toEqual(values);
    },
  );

  it("covers every way to fit and to resize", () => {
    expect(new Set(upright.map(({ fitted }) => fitted.fit)).size).toBe(3);
    expect(new Set(upright.map(({ fitted }) => fitted.resize)).size).toBe(4);
  });
});

function nameOf({ fitted, pixels }: Case): string {
  const { fit, resize, size, channels } = fitted;
  return `${pixels.height}x${pixels.width} to ${size.join("x")}x${channels}, ${fit}, ${resize}`;
}
