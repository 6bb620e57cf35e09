import { expect, test } from "vitest";
import { elastic } from "../../../../../../webapp/static/src/core/numerics/aggregation/elastic";

test("Own weights are drawn towards the given ones by a part of the way, rounded once", () => {
  const own = Float32Array.of(1, -2, 0.1);
  const given = Float32Array.of(3, -2, 0.3);
  expect([...elastic(own, given, 0.5)]).toEqual([
    2,
    -2,
    Math.fround((own[2] as number) - 0.5 * ((own[2] as number) - (given[2] as number))),
  ]);
  expect([...elastic(own, given, 0)]).toEqual([...own]);
});
