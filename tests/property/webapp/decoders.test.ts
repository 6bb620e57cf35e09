/**
 * Bad input from the network is read, or refused by the error that its reader documents.
 *
 * FUZZ_INPUTS says how many inputs each reader gets, FUZZ_SEED where they begin: see CONTRIBUTING.md.
 */

import { readFileSync } from "node:fs";
import { decode, encode } from "@msgpack/msgpack";
import { describe, expect, it } from "vitest";
import { decodeShard } from "../../../webapp/static/src/core/data/shard";
import {
  decodePeer,
  decodeToPeer,
  decodeToServer,
  encodeMesh,
} from "../../../webapp/static/src/protocol/wire/mesh";
import {
  decodeClient,
  decodeServer,
  encodeFrame,
  FrameError,
} from "../../../webapp/static/src/protocol/wire/messages";
import { decodeToUnits, decodeUnits, encodeUnits } from "../../../webapp/static/src/protocol/wire/units";
import { generator, Mutator } from "./mutate";

const INPUTS = Number(process.env.FUZZ_INPUTS ?? 4_000);
const SEED = Number(process.env.FUZZ_SEED ?? 0);
const SECONDS = 1000 * Math.max(60, INPUTS / 1000);

/** The good frames of a golden file, by who says them. */
function golden(file: string): Record<string, unknown[]> {
  const text = readFileSync(new URL(`../../contract/vectors/${file}`, import.meta.url), "utf8");
  const sides = Object.entries(JSON.parse(text) as Record<string, { hex: string }[]>);
  return Object.fromEntries(
    sides
      .filter(([side]) => !side.startsWith("bad_"))
      .map(([side, frames]) => [side, frames.map(({ hex }) => decode(Buffer.from(hex, "hex")))]),
  );
}
const FRAMES = { ...golden("frames.json"), ...golden("mesh_frames.json"), ...golden("units_frames.json") };

const floats = (...values: number[]) => new Uint8Array(Float32Array.from(values).buffer);
const array = (dtype: string, shape: number[], data: Uint8Array) => ({ dtype, shape, data });
const SHARDS = [
  {
    format: "minga-shard/2",
    examples: 2,
    x: [array("uint8", [2, 3], Uint8Array.of(1, 2, 3, 4, 5, 255))],
    y: [array("int32", [2], new Uint8Array(8))],
  },
  {
    format: "minga-shard/2",
    examples: 1,
    x: [array("float32", [1, 2], floats(0.5, -1))],
    y: [array("float32", [1, 1], floats(2))],
    sample_weight: array("float32", [1], floats(0.5)),
  },
];

function bytesOfHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.slice(0, 500)).toString("hex");
}

/** Gives `read` many inputs; each must be read or refused as `refusal` says. Returns how many were read. */
function tryInputs(
  mutator: Mutator,
  read: (input: Uint8Array) => void,
  refusal: (error: unknown) => boolean,
) {
  let good = 0;
  for (let count = 0; count < INPUTS; count++) {
    const input = mutator.make();
    try {
      read(input);
      good++;
    } catch (error) {
      if (!refusal(error)) throw new Error(`${String(error)} for ${bytesOfHex(input)}`, { cause: error });
    }
  }
  return good;
}

/** A message that was read is written in one form only, which is read as the same. */
function canonically<Message>(
  decodeFrame: (frame: Uint8Array) => Message,
  write: (message: Message) => Uint8Array,
) {
  return (input: Uint8Array) => {
    const form = write(decodeFrame(input));
    const again = write(decodeFrame(form));
    if (Buffer.compare(form, again) !== 0) throw new Error(`two forms: ${bytesOfHex(form)}`);
  };
}

describe("many bad inputs", () => {
  it.each([
    ["server", canonically(decodeServer, encodeFrame)],
    ["client", canonically(decodeClient, encodeFrame)],
    ["to_server", canonically(decodeToServer, encodeMesh)],
    ["to_peer", canonically(decodeToPeer, encodeMesh)],
    ["peer", canonically(decodePeer, encodeMesh)],
    ["units_to_server", canonically(decodeUnits, encodeUnits)],
    ["to_units", canonically(decodeToUnits, encodeUnits)],
  ] as const)("make no frame of %s that is read in two ways", { timeout: SECONDS }, (side, read) => {
    const mutator = new Mutator(generator(SEED), FRAMES[side] ?? [], (value) => encode(value));
    const good = tryInputs(mutator, read, (error) => error instanceof FrameError);
    expect(good).toBeGreaterThan(INPUTS / 100);
  });

  it("make no shard that is not refused with a sentence", { timeout: SECONDS }, () => {
    const mutator = new Mutator(generator(SEED), SHARDS, (value) => encode(value));
    const read = (input: Uint8Array) => {
      const shard = decodeShard(input);
      if (shard.examples > input.length) throw new Error(`${shard.examples} examples`);
    };
    const refusal = (error: unknown) => String(error).startsWith("Error: The data shard is damaged: ");
    expect(tryInputs(mutator, read, refusal)).toBeGreaterThan(INPUTS / 100);
  });
});
