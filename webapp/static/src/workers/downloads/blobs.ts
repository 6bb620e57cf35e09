/** Fetches files by the SHA-256 of their bytes, from the server's `/blobs/`. */

import { toHex } from "../../core/crypto/bytes";
import { cachedShard } from "../../core/data/shard-cache";
import type { WeightsSource } from "../../core/messages/training";
import { later, UserError } from "../../core/user-messages";

/** How long the server may take to begin its answer, and where the browser has a copy, in milliseconds. */
const PATIENCE = 30_000;
const PATIENCE_WITH_COPY = 5_000;

/** Fetches one blob and checks its hash against its address. `patience` is for the beginning of the answer. */
export async function fetchBlob(
  origin: string,
  sha256: string,
  patience = PATIENCE,
): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetchSoon(`${origin}/blobs/${sha256}`, patience);
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

/**
 * Fetches, and rejects with a TypeError, as without a network, if no answer has begun after `patience`: the worker would
 * wait for a server that lost power forever.
 */
async function fetchSoon(address: string, patience: number): Promise<Response> {
  const waiting = new AbortController();
  const timer = setTimeout(
    () => waiting.abort(new TypeError(later("The server does not answer."))),
    patience,
  );
  return fetch(address, { signal: waiting.signal }).finally(() => clearTimeout(timer));
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
