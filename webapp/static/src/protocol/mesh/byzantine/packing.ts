/**
 * Writes msgpack as Python's msgspec does, for bytes that are hashed or compared: numbers that may have fractions are
 * always float64, also where they are whole.
 */

import { encode } from "@msgpack/msgpack";
import { type Bytes, concat } from "../../../core/crypto/bytes";

/** Packs a whole number, text, bytes, or nothing. */
export function packed(value: number | string | Uint8Array | null): Bytes {
  return encode(value);
}

export function packedReal(value: number): Bytes {
  return encode(value, { forceIntegerToFloat: true });
}

/** Packs a list of items that are packed already. */
export function packedList(items: readonly Bytes[]): Bytes {
  return concat([head(0x90, 0xdc, items.length), ...items]);
}

/** Packs a map of values that are packed already; their order is kept. */
export function packedRecord(fields: Readonly<Record<string, Bytes>>): Bytes {
  const entries = Object.entries(fields);
  return concat([
    head(0x80, 0xde, entries.length),
    ...entries.flatMap(([key, value]) => [encode(key), value]),
  ]);
}

/** Returns the head of up to 65,535 items. */
function head(few: number, many: number, count: number): Bytes {
  return count < 16 ? Uint8Array.of(few | count) : Uint8Array.of(many, count >> 8, count & 0xff);
}
