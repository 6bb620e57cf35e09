/** Caches data shards in this browser between work units and sessions, so that each is fetched once. */

const CACHE = "minga-shards";
/** The number of shards reported to the server; the oldest are removed first. */
export const MOST_HELD = 64;
const MOST_BYTES = 256 * 2 ** 20;
const SIZE = "x-minga-bytes";

/** Opens the cache, which browsers offer only to pages from https or localhost; null without it. */
async function opened(): Promise<Cache | null> {
  const storage = globalThis.caches as CacheStorage | undefined;
  return (await storage?.open(CACHE).catch(() => null)) ?? null;
}

/** Returns the address of a shard, its SHA-256, which is the last part of its URL in the cache. */
const addressOf = (url: string): string => url.slice(url.lastIndexOf("/") + 1);
const urlOf = (address: string): string => `/held/${address}`;

/** Returns the addresses of the cached shards, the newest last. */
export async function cachedShards(): Promise<string[]> {
  const requests = (await (await opened())?.keys().catch(() => [])) ?? [];
  return requests.map(({ url }) => addressOf(url)).slice(-MOST_HELD);
}

/** Returns the bytes of a cached shard; null if it is not cached. */
export async function cachedShard(address: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const response = await (await opened())?.match(urlOf(address)).catch(() => undefined);
  return response ? new Uint8Array(await response.arrayBuffer()) : null;
}

/** Caches a shard, whose hash was checked. A browser without space keeps its earlier shards. */
export async function cacheShard(address: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  const cache = await opened();
  if (cache === null || bytes.length > MOST_BYTES) return;
  const response = new Response(bytes, { headers: { [SIZE]: String(bytes.length) } });
  await cache
    .put(urlOf(address), response)
    .then(() => trim(cache))
    .catch(() => undefined);
}

async function trim(cache: Cache): Promise<void> {
  let [count, bytes] = [0, 0];
  for (const request of [...(await cache.keys())].reverse()) {
    count += 1;
    bytes += Number((await cache.match(request))?.headers.get(SIZE) ?? 0);
    if (count > MOST_HELD || bytes > MOST_BYTES) await cache.delete(request);
  }
}
