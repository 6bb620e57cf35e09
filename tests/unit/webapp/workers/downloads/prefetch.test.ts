import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { sha256 } from "@noble/hashes/sha2.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { toHex } from "../../../../../webapp/static/src/core/crypto/bytes";
import { PrefetchedFiles } from "../../../../../webapp/static/src/workers/downloads/prefetch";

const files = new Map<string, Uint8Array>();
let asked: string[] = [];
let server: Server;
let origin = "";

function put(...values: number[]): string {
  const content = Uint8Array.from(values);
  const address = toHex(sha256(content));
  files.set(address, content);
  return address;
}

const WEIGHTS = put(1, 2, 3, 4);
const SHARD = put(5, 6);
const OTHER = put(7);

beforeEach(async () => {
  asked = [];
  server = createServer(({ url = "" }, response) => {
    const address = url.replace("/blobs/", "");
    asked.push(address);
    const content = files.get(address);
    response.statusCode = content ? 200 : 404;
    response.end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe("Files of the next unit", () => {
  test("are fetched once, before they are asked for", async () => {
    const ahead = new PrefetchedFiles();
    await ahead.fetch(1, origin, WEIGHTS, SHARD);
    const bring = ahead.take(1, origin);
    expect([...(await bring(WEIGHTS))]).toEqual([1, 2, 3, 4]);
    expect([...(await bring(SHARD))]).toEqual([5, 6]);
    expect(asked).toHaveLength(2);
    expect(new Set(asked)).toEqual(new Set([WEIGHTS, SHARD]));
  });

  test("belong to one lease: another that begins at the same weights has its own", async () => {
    const ahead = new PrefetchedFiles();
    await Promise.all([ahead.fetch(1, origin, WEIGHTS, SHARD), ahead.fetch(2, origin, WEIGHTS, OTHER)]);
    (await ahead.take(1, origin)(WEIGHTS)).fill(0);
    expect([...(await ahead.take(2, origin)(WEIGHTS))]).toEqual([1, 2, 3, 4]);
  });

  test("may be taken before they are here", async () => {
    const ahead = new PrefetchedFiles();
    const fetched = ahead.fetch(1, origin, WEIGHTS, SHARD);
    expect([...(await ahead.take(1, origin)(SHARD))]).toEqual([5, 6]);
    await fetched;
    expect(asked).toHaveLength(2);
  });

  test("are asked for again once they were forgotten, taken, or never fetched", async () => {
    const ahead = new PrefetchedFiles();
    await ahead.fetch(1, origin, WEIGHTS, SHARD);
    ahead.forget(1);
    expect([...(await ahead.take(1, origin)(OTHER))]).toEqual([7]);
    expect([...(await ahead.take(1, origin)(SHARD))]).toEqual([5, 6]);
    expect(asked.filter((address) => address === SHARD)).toHaveLength(2);
  });

  test("that could not be had ahead of time are told of, and asked for again", async () => {
    const late = toHex(sha256(Uint8Array.of(9, 9)));
    const ahead = new PrefetchedFiles();
    await expect(ahead.fetch(1, origin, WEIGHTS, late)).rejects.toThrow("does not have a file");
    put(9, 9);
    expect([...(await ahead.take(1, origin)(late))]).toEqual([9, 9]);
  });
});
