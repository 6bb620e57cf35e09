import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fromHex, toHex } from "../../../../../../webapp/static/src/core/crypto/bytes";
import {
  type Body,
  decodeBody,
  encodeBody,
} from "../../../../../../webapp/static/src/protocol/mesh/byzantine/statement-bodies";

interface Golden {
  readonly good: readonly { readonly hex: string; readonly value: Body }[];
  readonly bad: readonly { readonly name: string; readonly hex: string }[];
}

const golden = JSON.parse(readFileSync("tests/contract/vectors/byzantine_bodies.json", "utf8")) as Golden;

test.each(golden.good)("$value.type is written as Python writes it, and comes back", ({ hex, value }) => {
  expect(toHex(encodeBody(value))).toBe(hex);
  expect(decodeBody(fromHex(hex))).toEqual(value);
});

test.each(golden.bad)("$name is no body", ({ hex }) => {
  expect(decodeBody(fromHex(hex))).toBeNull();
});
