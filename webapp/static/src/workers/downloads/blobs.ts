/** Fetches files by the SHA-256 of their bytes, from the server's `/blobs/`. */

import { toHex } from "../../core/crypto/bytes";
import { download } from "../../core/data/download";
import { cachedShard } from "../../core/data/shard-cache";
import type { WeightsSource } from "../../core/messages/training";
import { later, UserError } from "../../core/user-messages";

/** Milliseconds without data after which a download is given up where the browser has a copy. */
const PATIENCE_WITH_COPY = 5_000;

/** Fetches one blob and checks its hash against its address. `patience` is for the time without data. */
export async function fetchBlob(
  origin: string,
  sha256: string,
  patience?: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const { ok, status, bytes } = await download(`${origin}/blobs/${sha256}`, {}, patience);
  if (!ok) {
    throw new UserError(
      later("The server does not have a file this task needs (status %(status)s). Reload the page.", {
        status,
      }),
    );
  }
  // Browsers offer hashing only to pages from https or localhost.
  const subtle = globalThis.crypto?.subtle as SubtleCrypto | undefined;
  if (subtle !== undefined && toHex(new Uint8Array(await subtle.digest("SHA-256", bytes))) !== sha256) {
    throw new Error(later("A file of this task was damaged on its way. Reload the page to fetch it again."));
  }
  return bytes;
}

/**
 * Fetches a blob, or takes a shard that other peers brought into the browser's cache while the server is away. A server
 * that answers has the last word: it may have removed the shard.
 */
export async function fetchBlobOrShard(origin: string, sha256: string): Promise<Uint8Array<ArrayBuffer>> {
  const cached = await cachedShard(sha256);
  if (cached === null) return fetchBlob(origin, sha256);
  return fetchBlob(origin, sha256, PATIENCE_WITH_COPY).catch((error: unknown) => {
    if (error instanceof TypeError) return cached;
    throw error;
  });
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
