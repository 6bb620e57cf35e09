/** Fetches the files of later work units while other work continues. */

import { cachedShard, cacheShard } from "../../core/data/shard-cache";
import { fetchBlob } from "./blobs";

type FetchedBytes = Uint8Array<ArrayBuffer>;

/** The files by lease, until they are taken or no longer needed. Owns them in between. */
export class PrefetchedFiles {
  readonly #prefetched = new Map<number, ReadonlyMap<string, Promise<FetchedBytes>>>();

  /** Fetches the files of `lease`; resolves when they have arrived. */
  async fetch(lease: number, origin: string, weights: string, shard: string): Promise<void> {
    const prefetched = [
      [weights, fetchBlob(origin, weights)],
      [shard, fetchShard(origin, shard)],
    ] as const;
    this.#prefetched.set(lease, new Map(prefetched));
    await Promise.all(prefetched.map(([, file]) => file));
  }

  forget(lease: number): void {
    this.#prefetched.delete(lease);
  }

  /** Returns a function that gives the files of `lease` by address, each once without another request. */
  take(lease: number, origin: string): (address: string) => Promise<FetchedBytes> {
    const prefetched = this.#prefetched.get(lease);
    this.forget(lease);
    const fetchAgain = async (address: string) => (await cachedShard(address)) ?? fetchBlob(origin, address);
    // What failed earlier may succeed now; it may also be a file that an earlier worker had fetched.
    return (address) => prefetched?.get(address)?.catch(() => fetchAgain(address)) ?? fetchAgain(address);
  }
}

/** Returns a data shard, from the browser's cache if possible. */
async function fetchShard(origin: string, address: string): Promise<FetchedBytes> {
  const cached = await cachedShard(address);
  if (cached !== null) return cached;
  const bytes = await fetchBlob(origin, address);
  await cacheShard(address, bytes);
  return bytes;
}
