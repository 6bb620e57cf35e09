/** Hashes of tensors: the SHA-256 of element type, shape and values. */

import type { Tensor } from "@tensorflow/tfjs-core";
import { type Bytes, concat, sha256, toHex, utf8 } from "../../../core/crypto/bytes";
import type { TracedDtype, TracedValue } from "../../../core/messages/tracing";

/** Reads a tensor now, so that it may be disposed. */
export function readValue(tensor: string, value: Tensor): TracedValue {
  const { buffer, byteOffset, byteLength } = value.dataSync();
  const bytes = new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength).slice();
  return { tensor, dtype: value.dtype as TracedDtype, shape: value.shape, bytes };
}

/** Returns the SHA-256 of `float32[32,10]`, a line feed and the values, little-endian. */
export async function hashOf({ dtype, shape, bytes }: TracedValue): Promise<string> {
  // Browsers offer hashing only to pages from https or localhost.
  if (globalThis.crypto?.subtle === undefined) {
    throw new Error("This page cannot hash, so that it cannot trace; open it by https.");
  }
  const hash = await sha256(concat([utf8(`${dtype}[${shape}]\n`), bytes]) as Bytes);
  return toHex(hash);
}
