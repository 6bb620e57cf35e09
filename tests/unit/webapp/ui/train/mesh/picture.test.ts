import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type DrawnPeer,
  frameOf,
  placesOf,
  radiusOf,
  WIDTH,
  widthOf,
} from "../../../../../../webapp/static/src/ui/train/mesh/picture";
import { LinkSpeeds } from "../../../../../../webapp/static/src/ui/train/mesh/speeds";

function dots(count: number): DrawnPeer[] {
  return Array.from({ length: count }, (_, i) => ({
    client: i.toString(16).padStart(16, "0"),
    kind: "browser",
    label: "",
    mine: i === 2,
    grouped: false,
    status: "ready",
  }));
}

test("all peers stand within the picture, and none on another", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), (count) => {
      const places = [...placesOf(dots(count)).values()];
      const radius = radiusOf(count);
      const [, top = 0, , height = 0] = frameOf(places, radius).split(" ").map(Number);
      for (const { x, y } of places) {
        expect(x).toBeGreaterThan(radius);
        expect(x).toBeLessThan(WIDTH - radius);
        expect(y).toBeGreaterThan(top + radius);
        expect(y).toBeLessThan(top + height - radius);
      }
      places.forEach((one, i) => {
        for (const other of places.slice(i + 1))
          expect(Math.hypot(one.x - other.x, one.y - other.y)).toBeGreaterThan(2 * radius);
      });
    }),
  );
});

test("this device stands at the bottom, whoever comes and goes", () => {
  for (const count of [3, 4, 9]) {
    const places = placesOf(dots(count));
    const mine = places.get("0000000000000002")?.y ?? 0;
    expect(Math.max(...[...places.values()].map(({ y }) => y))).toBe(mine);
  }
});

test("more bytes make a wider line, within bounds", () => {
  const widths = [0, 1e3, 1e5, 1e7, 1e12].map(widthOf);
  expect([...widths].sort((a, b) => a - b)).toEqual(widths);
  expect(widths.at(-1)).toBeLessThanOrEqual(6);
});

test("signs of life are no flow, and a stop is seen", () => {
  const speeds = new LinkSpeeds();
  const look = (bytes: number, now: number) =>
    speeds.look([{ client: "a", sentBytes: bytes, heardBytes: 0 }], now);
  look(0, 0);
  look(100, 1000);
  expect(speeds.of("a")).toBe(0);
  look(2_000_100, 2000);
  expect(speeds.of("a")).toBe(2_000_000);
  look(2_000_100, 3000);
  expect(speeds.of("a")).toBe(0);
  expect(speeds.of("b")).toBe(0);
});
