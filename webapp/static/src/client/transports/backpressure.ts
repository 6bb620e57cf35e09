/** Lets senders wait until fewer bytes wait at a link. `backend/peer/links/backpressure.py` does the same. */

/** Milliseconds between looks at the server's socket, which has no event for sent bytes. */
const LOOK_MILLISECONDS = 20;

interface DrainWaiter {
  readonly below: number;
  readonly resolve: () => void;
}

export class Backpressure {
  readonly #waiting = new Map<string, readonly DrainWaiter[]>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    /** Returns the bytes that wait for a client; 0 without a link. */
    private readonly buffered: (client: string) => number,
    /** Asks the link to report when fewer than these bytes wait, if it can. */
    private readonly notice: (client: string, below: number) => void,
  ) {}

  /** Resolves when fewer than `below` bytes wait for this client, or when there is no link. */
  async wait(client: string, below: number): Promise<void> {
    if (this.buffered(client) < below) return;
    await new Promise<void>((resolve) => {
      this.#keep(client, [...(this.#waiting.get(client) ?? []), { below, resolve }]);
    });
  }

  /** Resumes the senders for which few enough bytes wait now. */
  tell(client: string): void {
    const waiting = this.#waiting.get(client);
    if (waiting === undefined) return;
    const buffered = this.buffered(client);
    this.#keep(
      client,
      waiting.filter(({ below }) => buffered >= below),
    );
    for (const { below, resolve } of waiting) if (buffered < below) resolve();
  }

  #keep(client: string, waiting: readonly DrainWaiter[]): void {
    if (waiting.length === 0) this.#waiting.delete(client);
    else {
      this.#waiting.set(client, waiting);
      this.notice(client, Math.max(...waiting.map(({ below }) => below)));
    }
    if (this.#waiting.size > 0) this.#timer ??= setInterval(() => this.#poll(), LOOK_MILLISECONDS);
    else {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #poll(): void {
    for (const client of [...this.#waiting.keys()]) this.tell(client);
  }
}
