/** The connection to a task's server: bytes in, bytes out. WebSocket is one Transport; tests have others. */

import { PROTOCOL } from "../../protocol/wire/messages";
import { ServerWatch } from "./server-watch";

export interface TransportEvents {
  opened(): void;
  received(frame: Uint8Array): void;
  /** The connection ended or could not be made; no event follows. */
  closed(): void;
}

export interface Transport {
  /** The server's address, as this client chose it. */
  readonly address: string;
  /** Opens a connection; an earlier one is closed and reports no more events. */
  open(events: TransportEvents): void;
  /** Sends a frame; without a connection it is dropped, and the session repeats what matters after a reconnection. */
  send(frame: Uint8Array<ArrayBuffer>): void;
  /** Bytes given to `send` that have not left yet. */
  readonly buffered: number;
  close(): void;
}

export class SocketTransport implements Transport {
  readonly address: string;
  readonly #protocol: string;
  #socket: WebSocket | null = null;
  #watch: ServerWatch | null = null;

  /** `protocol` is the WebSocket subprotocol. */
  constructor(address: string, protocol = PROTOCOL) {
    this.address = address;
    this.#protocol = protocol;
  }

  get buffered(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  open(events: TransportEvents): void {
    this.close();
    const socket = new WebSocket(this.address, this.#protocol);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    const ifCurrent = (report: () => void) => () => {
      if (this.#socket === socket) report();
    };
    const ended = ifCurrent(() => {
      this.close();
      events.closed();
    });
    const watch = new ServerWatch(socket, ended);
    this.#watch = watch;
    socket.onopen = ifCurrent(() => {
      watch.heard();
      events.opened();
    });
    socket.onclose = ended;
    socket.onmessage = ({ data }) => {
      const isAnswer = data instanceof ArrayBuffer && data.byteLength === 0;
      // Text is no frame of this protocol; as empty bytes it is refused like any other invalid frame.
      const frame = data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array();
      ifCurrent(() => {
        watch.heard();
        if (!isAnswer) events.received(frame);
      })();
    };
  }

  send(frame: Uint8Array<ArrayBuffer>): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(frame);
  }

  close(): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#watch?.end();
    socket?.close();
  }
}

/** Returns the address of a task's socket on the server at `origin` (`https://example.org`). */
export function socketAddress(origin: string, task: string): string {
  return `${origin.replace(/^http/, "ws")}/api/tasks/${task}/socket`;
}
