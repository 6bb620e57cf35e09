import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { sha256 } from "@noble/hashes/sha2.js";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { toHex } from "../../../../../webapp/static/src/core/crypto/bytes";
import { fetchBlobOrShard } from "../../../../../webapp/static/src/workers/downloads/blobs";

const SHARD = Uint8Array.of(1, 2, 3);
const ADDRESS = toHex(sha256(SHARD));
const SLOW = 6_000;

type End = (status: number, content?: Uint8Array, announced?: number) => void;
let answer: (end: End) => void;
let server: Server;
let origin = "";

beforeEach(async () => {
  server = createServer((_, response) =>
    answer((status, content, announced = content?.length ?? 0) => {
      response.writeHead(status, { "content-length": announced });
      response.write(content ?? "");
      if (announced <= (content?.length ?? 0)) response.end();
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  vi.unstubAllGlobals();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** Gives Node a cache of shards, which only browsers have. */
function hold(held: Uint8Array | null): void {
  const match = async () => (held === null ? undefined : new Response(Uint8Array.from(held)));
  vi.stubGlobal("caches", { open: async () => ({ match }) });
}

test("a server that accepts a request and never answers it costs seconds where the browser has the shard", async () => {
  hold(SHARD);
  answer = () => undefined;
  expect(await fetchBlobOrShard(origin, ADDRESS)).toEqual(SHARD);
}, 20_000);

test("so does one that stops in the middle of the file", async () => {
  hold(SHARD);
  answer = (end) => end(200, SHARD.slice(0, 1), SHARD.length);
  expect(await fetchBlobOrShard(origin, ADDRESS)).toEqual(SHARD);
}, 20_000);

test("where the browser does not have it, the server may take longer", async () => {
  hold(null);
  answer = (end) => setTimeout(() => end(200, SHARD), SLOW);
  expect(await fetchBlobOrShard(origin, ADDRESS)).toEqual(SHARD);
}, 20_000);

test("a server that removed the shard is believed", async () => {
  hold(SHARD);
  answer = (end) => end(404);
  await expect(fetchBlobOrShard(origin, ADDRESS)).rejects.toThrow("does not have a file");
});

test("a server that is gone is not waited for", async () => {
  hold(SHARD);
  expect(await fetchBlobOrShard("http://127.0.0.1:1", ADDRESS)).toEqual(SHARD);
});
