import { encode } from "@msgpack/msgpack";
import { describe, expect, it } from "vitest";
import { unpack } from "../../../../../webapp/static/src/protocol/wire/msgpack";

function nested(depth: number): unknown {
  return depth === 0 ? null : [nested(depth - 1)];
}

describe("msgpack from elsewhere", () => {
  it.each([
    ["numbers of every size", [0, -1, -33, 200, 70_000, 2 ** 40, -(2 ** 40), -200, -70_000, 1.5]],
    ["texts of every size", ["", "a".repeat(31), "a".repeat(200), "a".repeat(300), "a".repeat(70_000)]],
    ["bytes of every size", [new Uint8Array(1), new Uint8Array(300), new Uint8Array(70_000)]],
    ["maps and lists of every size", [{}, { a: [] }, Array.from({ length: 70_000 }, () => true)]],
    ["a long map", Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`k${at}`, at]))],
    ["what lies eight deep", nested(8)],
  ])("gives %s back", (_, value) => {
    expect(unpack(encode(value))).toEqual(value);
  });

  it.each([
    ["a list longer than its bytes", Uint8Array.of(0xdd, 0x01, 0xff, 0xff, 0xff)],
    ["a map longer than its bytes", Uint8Array.of(0xdf, 0xff, 0xff, 0xff, 0xff, 0xa0)],
    ["lists in lists, each claiming millions", new Uint8Array(3000).map((_, at) => (at % 5 ? 0x01 : 0xdd))],
    ["what lies nine deep", encode(nested(9))],
    ["nothing", new Uint8Array(0)],
    ["a text without its end", Uint8Array.of(0xd9, 0x05, 0x61)],
    ["something after the end", Uint8Array.of(0xc0, 0xc0)],
  ])("refuses %s", (_, bytes) => {
    expect(() => unpack(bytes)).toThrow();
  });
});
