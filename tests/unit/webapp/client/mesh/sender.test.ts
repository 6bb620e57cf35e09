/** Pieces go to all members in turn, over real connections, and nobody holds the others up. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type GroupLinks, Sender } from "../../../../../webapp/static/src/client/mesh/sender";
import { encodeMesh, type PeerFrame } from "../../../../../webapp/static/src/protocol/wire/mesh";
import { clients } from "./member";

const MEMBERS = clients(5);
const OWN = MEMBERS[2] as string;
const [FIRST, SECOND, , FOURTH, FIFTH] = MEMBERS as [string, string, string, string, string];
const OTHERS = [FOURTH, FIFTH, FIRST, SECOND];
const SIZE = 8 << 20;
const ROOM = 1 << 18;
const MILLISECONDS = 60_000;

/** Connections on loopback to all others; those of `deaf` read nothing. */
class Wires implements GroupLinks {
  readonly sockets = new Map<string, Socket>();
  readonly heard = new Map(MEMBERS.map((client) => [client, 0]));
  /** To whom chunks went, as they went. */
  readonly order: string[] = [];
  /** Hears of each chunk. */
  sent: () => void = () => undefined;
  readonly #ends: Socket[] = [];
  readonly #servers: Server[] = [];

  constructor(private readonly deaf: readonly string[]) {}

  async take(client: string): Promise<void> {
    const server = createServer((end) => {
      this.#ends.push(end);
      end.on("error", () => end.destroy());
      const hear = (data: Buffer) => this.heard.set(client, (this.heard.get(client) ?? 0) + data.length);
      if (this.deaf.includes(client)) end.pause();
      else end.on("data", hear);
    });
    this.#servers.push(server.listen(0, "127.0.0.1"));
    await once(server, "listening");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    await once(
      socket.on("error", () => socket.destroy()),
      "connect",
    );
    this.sockets.set(client, socket);
    this.#ends.push(socket);
  }

  send(client: string, frame: PeerFrame): boolean {
    this.order.push(client);
    this.sockets.get(client)?.write(encodeMesh(frame));
    this.sent();
    return true;
  }

  room(client: string): number {
    return this.sockets.has(client) ? ROOM : 0;
  }

  async drained(client: string, below: number): Promise<void> {
    while ((this.sockets.get(client)?.writableLength ?? 0) >= below)
      await new Promise((resolve) => setTimeout(resolve, 1));
  }

  close(): void {
    for (const end of this.#ends) end.destroy();
    for (const server of this.#servers) server.close();
  }

  async reached(clients: readonly string[]): Promise<void> {
    const whole = () => {
      for (const client of clients) expect(this.heard.get(client)).toBeGreaterThanOrEqual(SIZE);
    };
    await vi.waitFor(whole, { timeout: MILLISECONDS / 2, interval: 5 });
  }
}

let made: { readonly wires: Wires; readonly departures: Sender } | null = null;
afterEach(() => {
  made?.departures.clear();
  made?.wires.close();
});

async function begin(deaf: readonly string[] = []) {
  const wires = new Wires(deaf);
  for (const client of OTHERS) await wires.take(client);
  made = { wires, departures: new Sender(wires, MEMBERS, OWN) };
  return made;
}

/** In the order of places, as a machine asks for it. Gives who was made something for. */
function sendToAll(departures: Sender): string[] {
  const asked: string[] = [];
  for (const [part, client] of MEMBERS.entries()) {
    if (client === OWN) continue;
    const head = { type: "piece", round: 1, group: 0, part, contributors: [] } as const;
    departures.add(client, async () => {
      asked.push(client);
      return { head, bytes: new Uint8Array(SIZE) };
    });
  }
  return asked;
}

describe("What a member sends", { timeout: MILLISECONDS }, () => {
  test("goes in turns that begin with the next member and go round", async () => {
    const { wires, departures } = await begin();
    const asked = sendToAll(departures);
    await wires.reached(OTHERS);
    expect([...new Set(wires.order)]).toEqual(OTHERS);
    expect(asked).toEqual(OTHERS);
  });

  test("is not held up by members that take nothing", async () => {
    const { wires, departures } = await begin([FOURTH, FIFTH]);
    sendToAll(departures);
    await wires.reached([FIRST, SECOND]);
    expect([wires.heard.get(FOURTH), wires.heard.get(FIFTH)]).toEqual([0, 0]);
  });

  test("is neither made nor sent when it was dropped before its turn", async () => {
    const { wires, departures } = await begin();
    const asked = sendToAll(departures);
    departures.drop(FIRST);
    await wires.reached([SECOND, FOURTH, FIFTH]);
    expect(wires.heard.get(FIRST)).toBe(0);
    expect(asked).not.toContain(FIRST);
  });

  test("ends when it is dropped on its way, and the next begins anew", async () => {
    const { wires, departures } = await begin();
    wires.sent = () => {
      wires.sent = () => undefined;
      departures.drop(FOURTH);
      sendToAll(departures);
    };
    sendToAll(departures);
    await wires.reached(OTHERS);
    expect(wires.order[0]).toBe(FOURTH);
    expect(wires.heard.get(FOURTH)).toBeLessThan(SIZE + 2 * ROOM);
  });

  test("to who has no link is dropped, and the others get theirs", async () => {
    const { wires, departures } = await begin();
    wires.sockets.delete(FOURTH);
    sendToAll(departures);
    await wires.reached([FIFTH, FIRST, SECOND]);
    expect(wires.heard.get(FOURTH)).toBe(0);
  });
});
