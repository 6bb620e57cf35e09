/** Data shards that this browser keeps between work units and visits, in its cache, so that each is fetched once. */

const CACHE = "minga-shards";
/** The server is told of so many; the oldest go first. */
export const MOST_HELD = 64;
const MOST_BYTES = 256 * 2 ** 20;
const SIZE = "x-minga-bytes";

/** Browsers offer their cache only to pages from https or from this computer. */
async function opened(): Promise<Cache | null> {
  const storage = globalThis.caches as CacheStorage | undefined;
  return (await storage?.open(CACHE).catch(() => null)) ?? null;
}

/** The address of a shard is its SHA-256, the last part of that in the cache. */
const addressOf = (url: string): string => url.slice(url.lastIndexOf("/") + 1);
const urlOf = (address: string): string => `/held/${address}`;

/** Addresses of the kept shards, the newest last. */
export async function cachedShards(): Promise<string[]> {
  const requests = (await (await opened())?.keys().catch(() => [])) ?? [];
  return requests.map(({ url }) => addressOf(url)).slice(-MOST_HELD);
}

/** The bytes of a kept shard; null where there is none. */
export async function cachedShard(address: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const response = await (await opened())?.match(urlOf(address)).catch(() => undefined);
  return response ? new Uint8Array(await response.arrayBuffer()) : null;
}

/** Keeps a shard, whose hash was checked. A browser without room keeps what it has. */
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
