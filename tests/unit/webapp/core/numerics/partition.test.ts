import { describe, expect, it } from "vitest";
import {
  dataKey,
  parsePart,
  partitionOrder,
  partRows,
  sha256,
} from "../../../../../webapp/static/src/core/numerics/partition";
import type { Preprocess } from "../../../../../webapp/static/src/core/preprocessing/declaration";
import golden from "../../../../contract/vectors/dealing.json";
import { read } from "../preprocessing/file-reading";

const { whole } = golden;

describe("parts of data that every client has", () => {
  it.each(golden.keys)("have the key that Python makes", async ({ hashes, key }) => {
    expect(await dataKey(hashes)).toBe(key);
  });

  it.each(golden.names)("are called $name", ({ key, half, number, name }) => {
    expect(parsePart(key, name)).toEqual({ part: half === "train" ? "train" : "holdout", number });
  });

  it.each(golden.parts)(
    "hold the examples that Python takes, $most of $examples",
    ({ examples, most, parts }) => {
      const order = partitionOrder(examples);
      expect(parts.map((_, number) => [...partRows(order, most, number)])).toEqual(parts);
      expect(() => partRows(order, most, parts.length)).toThrow(/There is no part/);
    },
  );

  it.each(["", "f".repeat(64), `${golden.names[0]?.key}2${"0".repeat(15)}`])(
    "are not called '%s'",
    (name) => {
      expect(() => parsePart(golden.names[0]?.key ?? "", name)).toThrow(/Reload the page/);
    },
  );
});

describe("a table that is fetched", () => {
  it("is cut as Python cuts it, from its bytes to the numbers in each part", async () => {
    const key = await dataKey([await sha256(new TextEncoder().encode(whole.text))]);
    const preprocess = whole.preprocess as unknown as Preprocess;
    const { understood } = await read(preprocess, { "table.csv": whole.text }, { holdout: whole.holdout });
    const values = async (names: readonly string[]) =>
      Promise.all(
        names.map(async (name) => {
          const { part, number } = parsePart(key, name);
          const half = understood.split[part];
          const rows = partRows(partitionOrder(half.length), whole.most, number);
          const { x } = await understood.take(rows.map((row) => half[row] as number));
          return [...(x[0]?.values ?? [])];
        }),
      );
    expect(await values(whole.names.train)).toEqual(whole.values.train);
    expect(await values(whole.names["held-out"])).toEqual(whole.values["held-out"]);
  });
});
