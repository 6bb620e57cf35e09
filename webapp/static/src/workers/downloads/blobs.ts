/** Fetches files by the SHA-256 of their bytes, from the server's `/blobs/`. */

import { toHex } from "../../core/crypto/bytes";
import { cachedShard } from "../../core/data/shard-cache";
import type { WeightsSource } from "../../core/messages/training";
import { later, UserError } from "../../core/user-messages";

/** Fetches one blob and checks its hash against its address. */
export async function fetchBlob(origin: string, sha256: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch(`${origin}/blobs/${sha256}`);
  if (!response.ok) {
    throw new UserError(
      later("The server does not have a file this task needs (status %(status)s). Reload the page.", {
        status: response.status,
      }),
    );
  }
  const bytes = await response.arrayBuffer();
  // Browsers offer hashing only to pages from https or localhost.
  const subtle = globalThis.crypto?.subtle as SubtleCrypto | undefined;
  if (subtle !== undefined && toHex(new Uint8Array(await subtle.digest("SHA-256", bytes))) !== sha256) {
    throw new Error(later("A file of this task was damaged on its way. Reload the page to fetch it again."));
  }
  return new Uint8Array(bytes);
}

/** Fetches a blob, or takes a shard that other peers brought into the browser's cache while the server is away. */
export async function fetchBlobOrShard(origin: string, sha256: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await fetchBlob(origin, sha256);
  } catch (error) {
    // A server that answers may have removed the shard.
    const cached = error instanceof TypeError ? await cachedShard(sha256) : null;
    if (cached === null) throw error;
    return cached;
  }
}

/** Returns a version's weights: exactly `length` float32 values. `bring` fetches an address. */
export async function fetchWeights(
  origin: string,
  weights: WeightsSource,
  length: number,
  bring = (address: string) => fetchBlob(origin, address),
): Promise<Float32Array<ArrayBuffer>> {
  const buffer = typeof weights === "string" ? (await bring(weights)).buffer : weights;
  if (buffer.byteLength !== 4 * length) {
    throw new UserError(
      later("The weights have %(found)s bytes, the model needs %(expected)s. Reload the page.", {
        found: buffer.byteLength,
        expected: 4 * length,
      }),
    );
  }
  return new Float32Array(buffer);
}
