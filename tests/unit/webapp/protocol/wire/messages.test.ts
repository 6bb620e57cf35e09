import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  decodeClient,
  decodeServer,
  encodeFrame,
  FrameError,
  MAX_CLIENT_FRAME,
  MAX_SERVER_FRAME,
} from "../../../../../webapp/static/src/protocol/wire/messages";

interface Golden {
  readonly name: string;
  readonly hex: string;
  readonly value: unknown;
}
type Side = "client" | "server";

const path = new URL("../../../../contract/vectors/frames.json", import.meta.url);
const vectors = JSON.parse(readFileSync(path, "utf8")) as Readonly<
  Record<Side | `bad_${Side}`, readonly Golden[]>
>;
const DECODE = { client: decodeClient, server: decodeServer };

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function toHex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The message as the vectors write it: bytes as {"bytes": hex}. */
function readable(value: unknown): unknown {
  if (value instanceof Uint8Array) return { bytes: toHex(value) };
  if (Array.isArray(value)) return value.map(readable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, readable(one)]));
}

describe.each(["client", "server"] as const)("Golden frames of the %s", (side) => {
  test.each(vectors[side])("$name: read as in Python", ({ hex, value }) => {
    expect(readable(DECODE[side](fromHex(hex)))).toEqual(value);
  });

  test.each(vectors[side])("$name: written so that it reads the same", ({ hex }) => {
    const message = DECODE[side](fromHex(hex));
    expect(DECODE[side](encodeFrame(message))).toEqual(message);
    expect(encodeFrame(message).length).toBeLessThanOrEqual(hex.length / 2);
  });

  test.each(vectors[`bad_${side}`])("refused: $name", ({ hex }) => {
    expect(() => DECODE[side](fromHex(hex))).toThrow(FrameError);
  });
});

test("frames without whole-numbered floats are the same bytes in both languages", () => {
  const same = vectors.client.filter(({ hex }) => toHex(encodeFrame(decodeClient(fromHex(hex)))) === hex);
  expect(same.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["hello from a browser", "ready", "offer", "chunk", "leave"]),
  );
});

test("a frame that is too long is refused before it is read", () => {
  expect(() => decodeClient(new Uint8Array(MAX_CLIENT_FRAME + 1))).toThrow(/at most/);
  expect(() => decodeServer(new Uint8Array(MAX_SERVER_FRAME + 1))).toThrow(/at most/);
});
