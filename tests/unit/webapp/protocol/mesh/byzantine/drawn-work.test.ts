import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  coinSeed,
  drawnNumber,
  drawnOrder,
  validations,
} from "../../../../../../webapp/static/src/protocol/mesh/byzantine/drawn-work";

interface Golden {
  readonly clients: readonly string[];
  readonly draws: readonly {
    readonly coin: string;
    readonly numbers: readonly { readonly client: string; readonly limit: number; readonly number: number }[];
    readonly order: readonly string[];
    readonly validations: readonly {
      readonly count: number;
      readonly unable: readonly string[];
      readonly targets: Readonly<Record<string, string>>;
    }[];
    readonly seed: number;
  }[];
}

const golden = JSON.parse(readFileSync("tests/contract/vectors/drawn_work.json", "utf8")) as Golden;

test.each(golden.draws)("coin $coin draws what it draws in Python", (draw) => {
  const { coin } = draw;
  for (const { client, limit, number } of draw.numbers)
    expect(drawnNumber(coin, "shard", client, limit)).toBe(number);
  expect(drawnOrder(coin, "seen", golden.clients)).toEqual(draw.order);
  for (const { count, unable, targets } of draw.validations) {
    const found = validations(coin, golden.clients, golden.clients.slice(3), count, new Set(unable));
    expect(Object.fromEntries(found)).toEqual(targets);
  }
  expect(coinSeed(coin)).toBe(draw.seed);
});
