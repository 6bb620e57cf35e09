import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { download } from "../../../../../webapp/static/src/core/data/download";

const PATIENCE = 1_000;
const EACH = 400;

let answer: (response: ServerResponse) => void;
let server: Server;
let address = "";

beforeEach(async () => {
  server = createServer((_, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const stalled = new TypeError("The server does not answer.");

test("a server that never answers is not waited for without end", async () => {
  answer = () => undefined;
  await expect(download(address, {}, PATIENCE)).rejects.toThrow(stalled);
});

test("a server that stops in the middle of a file is not waited for without end", async () => {
  answer = (response) => response.write("half");
  await expect(download(address, {}, PATIENCE)).rejects.toThrow(stalled);
});

test("a server that stops in the middle of a refusal is not waited for without end", async () => {
  answer = (response) => response.writeHead(503).write("bus");
  await expect(download(address, {}, PATIENCE)).rejects.toThrow(stalled);
});

test("a slow file arrives whole, however long it takes in all", async () => {
  answer = (response) => {
    const parts = [..."slowly"];
    const sending = setInterval(() => {
      response.write(parts.shift());
      if (parts.length > 0) return;
      clearInterval(sending);
      response.end();
    }, EACH);
  };
  const { ok, bytes } = await download(address, {}, PATIENCE);
  expect([ok, new TextDecoder().decode(bytes)]).toEqual([true, "slowly"]);
}, 20_000);

test("an answer without content has no bytes", async () => {
  answer = (response) => response.writeHead(204).end();
  expect(await download(address, {}, PATIENCE)).toEqual({ ok: true, status: 204, bytes: new Uint8Array() });
});

test("the caller may give up with a reason of its own", async () => {
  const caller = new AbortController();
  answer = () => caller.abort(new Error("The page was closed."));
  await expect(download(address, { signal: caller.signal }, PATIENCE)).rejects.toThrow(
    "The page was closed.",
  );
});

test("a server that is gone is reported at once, as the browser does", async () => {
  await expect(download("http://127.0.0.1:1")).rejects.toThrow(TypeError);
});
