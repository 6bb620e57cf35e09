/** The one connection to a task: bytes in, bytes out. WebSocket is one Transport; tests and later networks bring others. */

import { PROTOCOL } from "../../protocol/wire/messages";

export interface TransportEvents {
  opened(): void;
  received(frame: Uint8Array): void;
  /** The connection ended or could not be made; nothing follows. */
  closed(): void;
}

export interface Transport {
  /** Makes one connection; the one before it, if any, is closed and reports no more. */
  open(events: TransportEvents): void;
  /** Drops the frame when there is no connection: the session says again what matters after a reconnection. */
  send(frame: Uint8Array<ArrayBuffer>): void;
  /** Bytes given to `send` that have not left yet. */
  readonly buffered: number;
  close(): void;
}

export class SocketTransport implements Transport {
  readonly #address: string;
  readonly #protocol: string;
  #socket: WebSocket | null = null;

  /** `protocol` is what is spoken there. */
  constructor(address: string, protocol = PROTOCOL) {
    this.#address = address;
    this.#protocol = protocol;
  }

  get buffered(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  open(events: TransportEvents): void {
    this.close();
    const socket = new WebSocket(this.#address, this.#protocol);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    const mine = (report: () => void) => () => {
      if (this.#socket === socket) report();
    };
    socket.onopen = mine(() => events.opened());
    socket.onclose = mine(() => {
      this.#socket = null;
      events.closed();
    });
    socket.onmessage = ({ data }) => {
      // Text is no frame of this protocol; as empty bytes it is refused like any other garbage.
      const frame = data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array();
      mine(() => events.received(frame))();
    };
  }

  send(frame: Uint8Array<ArrayBuffer>): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(frame);
  }

  close(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }
}

/** Address of a task's socket on the server at `origin` (`https://example.org`). */
export function socketAddress(origin: string, task: string): string {
  return `${origin.replace(/^http/, "ws")}/api/tasks/${task}/socket`;
}
