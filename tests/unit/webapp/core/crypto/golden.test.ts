import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Golden, masks } from "../../../../support/browser/harness/calls/masks";

const golden = JSON.parse(readFileSync("tests/contract/vectors/masked.json", "utf8")) as Golden;

test.each([
  ["the platform's curves", false],
  ["the library's curves", true],
])("Python's golden vectors come out with %s", async (_, noble) => {
  const { compared, faults } = await masks({ golden, noble });
  expect(faults).toEqual([]);
  expect(compared).toBeGreaterThan(100);
});

test("a changed vector is noticed", async () => {
  const { shares } = golden;
  const [first, ...others] = shares;
  const bent = { ...golden, shares: [{ ...first, threshold: 2, randomness: "01".repeat(32) }, ...others] };
  const { faults } = await masks({ golden: bent as Golden, noble: false });
  expect(faults).toEqual([`shares of ${first?.secret}`]);
});
