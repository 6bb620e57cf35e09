/** Who waits until less waits for a link. `backend/peer/links/backpressure.py` does the same. */

/** The server's socket does not say when it has sent what it was given: while somebody waits, it is looked at so often. */
const LOOK_MILLISECONDS = 20;

interface DrainWaiter {
  readonly below: number;
  readonly resolve: () => void;
}

export class Backpressure {
  readonly #waiting = new Map<string, readonly DrainWaiter[]>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    /** Bytes that wait for a client; 0 where there is no link. */
    private readonly buffered: (client: string) => number,
    /** Asks the link to say when fewer than these bytes wait, if it can. */
    private readonly notice: (client: string, below: number) => void,
  ) {}

  /** Until fewer than `below` bytes wait for this client, or there is no link. */
  async wait(client: string, below: number): Promise<void> {
    if (this.buffered(client) < below) return;
    await new Promise<void>((resolve) => {
      this.#keep(client, [...(this.#waiting.get(client) ?? []), { below, resolve }]);
    });
  }

  /** Fewer bytes may wait than before: those who waited for this go on. */
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
    if (this.#waiting.size > 0) this.#timer ??= setInterval(() => this.#look(), LOOK_MILLISECONDS);
    else {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #look(): void {
    for (const client of [...this.#waiting.keys()]) this.tell(client);
  }
}
