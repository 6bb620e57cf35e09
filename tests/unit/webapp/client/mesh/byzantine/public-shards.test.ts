import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PublicShards } from "../../../../../../webapp/static/src/client/mesh/byzantine/public-shards";
import type { WeightTransfer } from "../../../../../../webapp/static/src/client/mesh/weight-transfer";
import { type Bytes, sha256, toHex } from "../../../../../../webapp/static/src/core/crypto/bytes";
import { cachedShard } from "../../../../../../webapp/static/src/core/data/shard-cache";
import type { ByzantineRules } from "../../../../../../webapp/static/src/protocol/wire/mesh";

const ORIGIN = "https://example.org";
const BO = "00000000000000bb";
const SHARD: Bytes = Uint8Array.from({ length: 1000 }, (_, i) => i % 251);
const OTHER: Bytes = Uint8Array.of(1, 2, 3);

/** The browser's cache of responses, and of its own. */
const fetched = new Map<string, Bytes>();
const cached = new Map<string, Response>();

beforeEach(() => {
  vi.stubGlobal("fetch", async (address: string, { cache }: RequestInit = {}) => {
    expect(cache).toBe("only-if-cached");
    const body = fetched.get(address);
    if (body === undefined) throw new TypeError("It is not cached.");
    return new Response(body);
  });
  const cache = {
    match: async (address: string) => cached.get(address)?.clone(),
    put: async (address: string, response: Response) => void cached.set(address, response),
    keys: async () => [],
  };
  vi.stubGlobal("caches", { open: async () => cache });
});

afterEach(() => {
  vi.unstubAllGlobals();
  fetched.clear();
  cached.clear();
});

/** A member whose only peer has `has`; the server is there if it is `connected`. */
async function member({ connected = false, has = SHARD as Bytes | null } = {}) {
  const asked: { readonly hash: string; readonly atMost: number; readonly clients: readonly string[] }[] = [];
  const fetch = async (hash: string, atMost: number, clients: readonly string[]) => {
    asked.push({ hash, atMost, clients });
    return has;
  };
  const hash = toHex(await sha256(SHARD));
  const shards = new PublicShards({
    origin: ORIGIN,
    rules: { shards: [{ sha256: hash, examples: 10 }] } as unknown as ByzantineRules,
    links: { linked: [BO], send: () => true, identityOf: () => null },
    fetching: { fetch } as unknown as WeightTransfer,
    model: () => ({ parameters: 0, trainable: 0, exampleValues: 65 }),
    connected: () => connected,
  });
  return { shards, asked, hash, drawn: [{ sha256: hash, examples: 10 }] };
}

test("a shard comes from other members into the browser's cache, and is handed on from there", async () => {
  const { shards, asked, hash, drawn } = await member();
  expect(await shards.find(hash)).toBeNull();
  await shards.bring(drawn);
  expect(asked).toEqual([{ hash, atMost: 4 * 66 * 10 + 64 * 1024, clients: [BO] }]);
  expect(await cachedShard(hash)).toEqual(SHARD);
  expect(await shards.find(hash)).toEqual(SHARD);
  await shards.bring(drawn);
  expect(asked).toHaveLength(1);
});

test("what the browser fetched from the server before is not asked for, and is handed on", async () => {
  const { shards, asked, hash, drawn } = await member();
  fetched.set(`${ORIGIN}/blobs/${hash}`, SHARD);
  await shards.bring(drawn);
  expect(asked).toEqual([]);
  expect(await shards.find(hash)).toEqual(SHARD);
});

test("while the server is there nobody else is asked", async () => {
  const { shards, asked, drawn } = await member({ connected: true });
  await shards.bring(drawn);
  expect(asked).toEqual([]);
});

test("a shard that nobody has is missing", async () => {
  const { shards, hash, drawn } = await member({ has: null });
  await shards.bring(drawn);
  expect(await cachedShard(hash)).toBeNull();
});

test("other files of the server are not handed on", async () => {
  const { shards } = await member();
  const hash = toHex(await sha256(OTHER));
  fetched.set(`${ORIGIN}/blobs/${hash}`, OTHER);
  expect(await shards.find(hash)).toBeNull();
});
