import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type FileDownload,
  fetchFiles,
  type UrlFile,
} from "../../../../../webapp/static/src/client/session/url-data";
import { sha256 } from "../../../../../webapp/static/src/core/numerics/partition";

const CONTENT = Uint8Array.from({ length: 100_000 }, (_, i) => i % 251);
let server: Server;
let origin = "";

beforeAll(async () => {
  server = createServer((request, response) => {
    const name = request.url ?? "";
    if (name === "/missing.npz") response.writeHead(404).end();
    else if (name === "/moved.npz") response.writeHead(302, { location: "/good.npz" }).end();
    else if (name === "/endless.npz") {
      // Without a length.
      response.write(CONTENT);
      response.end(CONTENT);
    } else if (name === "/silent.npz") response.write(CONTENT.subarray(0, 10));
    else if (name === "/short.npz") response.end(CONTENT.subarray(0, 10));
    else response.end(CONTENT);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function get(
  name: string,
  change: Partial<UrlFile> = {},
  options: Partial<FileDownload> = {},
): Promise<File[]> {
  const usual = { address: `${origin}/${name}`, sha256: await sha256(CONTENT), bytes: CONTENT.length, name };
  const { signal } = new AbortController();
  return fetchFiles([{ ...usual, ...change }], {
    pageHost: "127.0.0.1",
    signal,
    onBytes: () => undefined,
    ...options,
  });
}

describe("a file from elsewhere", () => {
  it("comes whole, and says how much came", async () => {
    let received = 0;
    const [file] = await get("good.npz", {}, { onBytes: (bytes) => (received += bytes) });
    expect(new Uint8Array((await file?.arrayBuffer()) ?? new ArrayBuffer())).toEqual(CONTENT);
    expect(received).toBe(CONTENT.length);
  });

  it.each([
    ["good.npz", { sha256: "0".repeat(64) }, /not the file that the task’s owner chose/],
    ["good.npz", { bytes: 1000 }, /longer than the task says/],
    ["endless.npz", {}, /longer than the task says/],
    ["short.npz", {}, /ended early/],
    ["missing.npz", {}, /does not give missing.npz to everyone: it answers 404/],
    ["moved.npz", {}, /cannot read from .*redirects to another address.*\(CORS\)/],
  ])("that is not as it should be is told: %s %o", async (name, change, told) => {
    await expect(get(name, change)).rejects.toThrow(told);
  });

  it("that stops coming is told", async () => {
    await expect(get("silent.npz", {}, { patience: 200 })).rejects.toThrow(/Nothing arrived from/);
  });

  it("is not waited for by who cancelled", async () => {
    const cancelling = new AbortController();
    const asked = get("silent.npz", {}, { signal: cancelling.signal, onBytes: () => cancelling.abort() });
    await expect(asked).rejects.toThrow(/abort/i);
  });

  it.each([
    "192.168.1.1",
    "localhost",
    "a.localhost",
    "localhost.",
    "[::1]",
    "[64:ff9b::7f00:1]",
    "10.0.0.1",
    "100.100.0.1",
    "172.20.1.1",
    "2130706433",
  ])("of %s is not looked for by a page from elsewhere", async (host) => {
    const asked = get("good.npz", { address: `https://${host}/good.npz` }, { pageHost: "minga.example.org" });
    await expect(asked).rejects.toThrow(/an address of a local network/);
  });
});
