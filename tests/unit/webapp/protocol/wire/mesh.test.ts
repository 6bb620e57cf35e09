import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { FrameError } from "../../../../../webapp/static/src/protocol/wire/fields";
import {
  decodePeer,
  decodeToPeer,
  decodeToServer,
  encodeMesh,
  MAX_PEER_FRAME,
  MAX_TO_SERVER,
} from "../../../../../webapp/static/src/protocol/wire/mesh";

interface Golden {
  readonly name: string;
  readonly hex: string;
  readonly value: unknown;
}
type Side = "to_server" | "to_peer" | "peer";

const path = new URL("../../../../contract/vectors/mesh_frames.json", import.meta.url);
const vectors = JSON.parse(readFileSync(path, "utf8")) as Readonly<
  Record<Side | `bad_${Side}`, readonly Golden[]>
>;
const DECODE = { to_server: decodeToServer, to_peer: decodeToPeer, peer: decodePeer };

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** The message as the vectors write it: bytes as {"bytes": hex}. */
function readable(value: unknown): unknown {
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString("hex") };
  if (Array.isArray(value)) return value.map(readable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, readable(one)]));
}

describe.each(["to_server", "to_peer", "peer"] as const)("Golden frames of a mesh: %s", (side) => {
  test.each(vectors[side])("$name: read as in Python", ({ hex, value }) => {
    expect(readable(DECODE[side](fromHex(hex)))).toEqual(value);
  });

  test.each(vectors[side])("$name: written so that it reads the same", ({ hex }) => {
    const message = DECODE[side](fromHex(hex));
    expect(DECODE[side](encodeMesh(message))).toEqual(message);
    expect(encodeMesh(message).length).toBeLessThanOrEqual(hex.length / 2);
  });

  test.each(vectors[`bad_${side}`])("refused: $name", ({ hex }) => {
    expect(() => DECODE[side](fromHex(hex))).toThrow(FrameError);
  });
});

test("frames over the limit are refused unread", () => {
  expect(() => decodePeer(new Uint8Array(MAX_PEER_FRAME + 1))).toThrow(/at most/);
  expect(() => decodeToServer(new Uint8Array(MAX_TO_SERVER + 1))).toThrow(/at most/);
});
