/** Files of the work units that come next, fetched while other work goes on. */

import { cachedShard, cacheShard } from "../../core/data/shard-cache";
import { fetchBlob } from "./blobs";

type FetchedBytes = Uint8Array<ArrayBuffer>;

/** By their leases, from when they are fetched until they are taken or nobody needs them. Owns them in between. */
export class PrefetchedFiles {
  readonly #coming = new Map<number, ReadonlyMap<string, Promise<FetchedBytes>>>();

  /** Fetches the files of `lease`; ends when they are here. */
  async fetch(lease: number, origin: string, weights: string, shard: string): Promise<void> {
    const coming = [
      [weights, fetchBlob(origin, weights)],
      [shard, fetchShard(origin, shard)],
    ] as const;
    this.#coming.set(lease, new Map(coming));
    await Promise.all(coming.map(([, file]) => file));
  }

  forget(lease: number): void {
    this.#coming.delete(lease);
  }

  /** Brings the files of `lease` by their addresses, each once without asking the server again. */
  take(lease: number, origin: string): (address: string) => Promise<FetchedBytes> {
    const coming = this.#coming.get(lease);
    this.forget(lease);
    const anew = async (address: string) => (await cachedShard(address)) ?? fetchBlob(origin, address);
    // What failed ahead of its time may work now; so may what a worker before this one had fetched.
    return (address) => coming?.get(address)?.catch(() => anew(address)) ?? anew(address);
  }
}

/** A data shard, from what this browser keeps where it can. */
async function fetchShard(origin: string, address: string): Promise<FetchedBytes> {
  const cached = await cachedShard(address);
  if (cached !== null) return cached;
  const bytes = await fetchBlob(origin, address);
  await cacheShard(address, bytes);
  return bytes;
}
