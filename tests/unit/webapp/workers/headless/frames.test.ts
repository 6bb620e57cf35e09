/** Frames of a headless peer's pipes, however the pipes cut them. */

import { decode } from "@msgpack/msgpack";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FrameReader, frameOf } from "../../../../../webapp/static/src/workers/headless/frames";

test("an ArrayBuffer is written as bytes", () => {
  const frame = frameOf({ type: "trained", update: Float32Array.of(1, 2).buffer, local: null });
  expect(new DataView(frame.buffer).getUint32(0, true)).toBe(frame.length - 4);
  const message = decode(frame.subarray(4)) as { update: Uint8Array; local: null };
  expect(message.local).toBeNull();
  expect(new Float32Array(message.update.slice().buffer)).toEqual(Float32Array.of(1, 2));
});

test("messages are read from any pieces", () => {
  const messages = fc.array(fc.record({ type: fc.string(), id: fc.nat() }), { maxLength: 5 });
  fc.assert(
    fc.property(messages, fc.integer({ min: 1, max: 40 }), (sent, size) => {
      const stream = Buffer.concat(sent.map(frameOf));
      const reader = new FrameReader();
      const read: unknown[] = [];
      for (let at = 0; at < stream.length; at += size)
        read.push(...reader.add(stream.subarray(at, at + size)));
      expect(read).toEqual(sent);
    }),
  );
});

test("a frame over the limit is refused", () => {
  expect(() => new FrameReader().add(Uint8Array.of(0, 0, 0, 255))).toThrow("over the limit");
});
