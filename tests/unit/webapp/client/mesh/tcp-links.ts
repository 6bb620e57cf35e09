/** Links over plain TCP, which tests/support/peer/tcp_member.py speaks too: a length (4 bytes,
 * little-endian), then a frame. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { GroupLinks } from "../../../../../webapp/static/src/client/mesh/sender";
import { decodePeer, encodeMesh, type PeerFrame } from "../../../../../webapp/static/src/protocol/wire/mesh";

const ROOM = 16 * 1024;

export interface LinkEvents {
  up(client: string): void;
  down(client: string): void;
  received(client: string, frame: PeerFrame): void;
}

export class TcpLinks implements GroupLinks {
  readonly #sockets = new Map<string, Socket>();
  readonly #server: Server = createServer((socket) => {
    this.#speak(socket.on("error", () => socket.destroy()));
  });

  constructor(
    readonly own: string,
    private readonly events: LinkEvents,
  ) {}

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  connect(port: number): void {
    const socket = connect({ host: "127.0.0.1", port });
    socket.on("error", () => socket.destroy()).once("connect", () => this.#speak(socket));
  }

  send(client: string, frame: PeerFrame): boolean {
    const socket = this.#sockets.get(client);
    if (socket === undefined) return false;
    write(socket, encodeMesh(frame));
    return true;
  }

  room(client: string): number {
    return this.#sockets.has(client) ? ROOM : 0;
  }

  async drained(client: string, below: number): Promise<void> {
    for (;;) {
      const socket = this.#sockets.get(client);
      if (socket === undefined || socket.writableLength < below) return;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** Breaks the link to `client`, or all. */
  cut(client?: string): void {
    for (const [name, socket] of this.#sockets) {
      if (client === undefined || name === client) socket.destroy();
    }
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  /** First of all both ends say who they are. */
  #speak(socket: Socket): void {
    let client: string | null = null;
    let rest: Buffer = Buffer.alloc(0);
    write(socket, Buffer.from(this.own));
    socket.on("data", (data: Buffer) => {
      rest = Buffer.concat([rest, data]);
      for (let length = whole(rest); length !== null; length = whole(rest)) {
        const frame = new Uint8Array(rest.subarray(4, 4 + length));
        rest = rest.subarray(4 + length);
        if (client !== null) this.events.received(client, decodePeer(frame));
        else {
          client = Buffer.from(frame).toString();
          this.#sockets.set(client, socket);
          this.events.up(client);
        }
      }
    });
    socket.on("close", () => {
      if (client === null || this.#sockets.get(client) !== socket) return;
      this.#sockets.delete(client);
      this.events.down(client);
    });
  }
}

function write(socket: Socket, bytes: Uint8Array): void {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  socket.write(length);
  socket.write(bytes);
}

/** Bytes of the first frame, if all of it is here. */
function whole(bytes: Buffer): number | null {
  if (bytes.length < 4) return null;
  const length = bytes.readUInt32LE(0);
  return bytes.length >= 4 + length ? length : null;
}
