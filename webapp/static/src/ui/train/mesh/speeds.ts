/** How fast bytes flow over each link now, from how many went at all. */

interface Seen {
  readonly bytes: number;
  readonly at: number;
  readonly speed: number;
}

export interface Counted {
  readonly client: string;
  readonly sentBytes: number;
  readonly heardBytes: number;
}

/** Slower than this is only signs of life. */
const LEAST = 500;

export class Speeds {
  readonly #seen = new Map<string, Seen>();

  /** Looks at the counts of all links; `now` in milliseconds. */
  look(links: readonly Counted[], now: number): void {
    for (const { client, sentBytes, heardBytes } of links) {
      const bytes = sentBytes + heardBytes;
      const before = this.#seen.get(client);
      if (!before) this.#seen.set(client, { bytes, at: now, speed: 0 });
      else if (now - before.at >= 500) {
        const speed = (1000 * (bytes - before.bytes)) / (now - before.at);
        this.#seen.set(client, { bytes, at: now, speed: speed < LEAST ? 0 : speed });
      }
    }
  }

  /** Bytes a second to and from this peer. */
  of(client: string): number {
    return this.#seen.get(client)?.speed ?? 0;
  }
}
