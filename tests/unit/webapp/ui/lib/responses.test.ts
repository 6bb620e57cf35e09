/** Answers that break off are as good as none, and complain to nobody. */

import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { fetchJson } from "../../../../../webapp/static/src/ui/lib/responses";

let server: Server;

async function serving(answer: RequestListener): Promise<string> {
  server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

afterEach(() => server.close());

test("an answer is read", async () => {
  const address = await serving((_, response) => response.end('{"links": 3}'));
  expect(await fetchJson(address)).toEqual({ links: 3 });
});

test("a connection that breaks within the answer, or before it, leaves nothing", async () => {
  const halfway = await serving((_, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write('{"links"', () => response.destroy());
  });
  expect(await fetchJson(halfway)).toBeNull();
  server.close();
  const before = await serving((request) => request.socket.destroy());
  expect(await fetchJson(before)).toBeNull();
});

test("a refusal is no answer", async () => {
  const address = await serving((_, response) => response.writeHead(404).end('{"error": {}}'));
  expect(await fetchJson(address)).toBeNull();
});
