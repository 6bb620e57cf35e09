/**
 * Notices that the server of a socket vanished without closing it, as after a power failure: browsers keep such a
 * socket open for hours. After some silence it sends an empty frame, which the server sends back.
 */

/** Milliseconds for opening a socket, without a frame before the server is asked, and for its answer. */
const OPENING = 20_000;
const QUIET = 20_000;
const ANSWERING = 20_000;

export class ServerWatch {
  readonly #socket: Pick<WebSocket, "send" | "bufferedAmount">;
  readonly #vanished: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `socket` is being opened; `vanished` is called at most once. */
  constructor(socket: Pick<WebSocket, "send" | "bufferedAmount">, vanished: () => void) {
    this.#socket = socket;
    this.#vanished = vanished;
    this.#wait(OPENING, vanished);
  }

  /** The socket is open, or a frame arrived. */
  heard(): void {
    this.#wait(QUIET, () => {
      this.#socket.send(new Uint8Array());
      this.#awaitAnswer();
    });
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #awaitAnswer(): void {
    const waiting = this.#socket.bufferedAmount;
    // A long update may still be leaving before the question.
    const isLeaving = () => this.#socket.bufferedAmount < waiting;
    this.#wait(ANSWERING, () => (isLeaving() ? this.#awaitAnswer() : this.#vanished()));
  }

  #wait(milliseconds: number, then: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(then, milliseconds);
  }
}
