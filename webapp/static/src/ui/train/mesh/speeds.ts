/** Measures the current speed of each link from its total byte counts. */

interface SpeedSample {
  readonly bytes: number;
  readonly at: number;
  readonly speed: number;
}

export interface ByteCount {
  readonly client: string;
  readonly sentBytes: number;
  readonly heardBytes: number;
}

/** Slower traffic consists only of heartbeats. */
const LEAST = 500;

export class LinkSpeeds {
  readonly #samples = new Map<string, SpeedSample>();

  /** Takes the counts of all links; `now` in milliseconds. */
  look(links: readonly ByteCount[], now: number): void {
    for (const { client, sentBytes, heardBytes } of links) {
      const bytes = sentBytes + heardBytes;
      const previous = this.#samples.get(client);
      if (!previous) this.#samples.set(client, { bytes, at: now, speed: 0 });
      else if (now - previous.at >= 500) {
        const speed = (1000 * (bytes - previous.bytes)) / (now - previous.at);
        this.#samples.set(client, { bytes, at: now, speed: speed < LEAST ? 0 : speed });
      }
    }
  }

  /** Returns bytes per second to and from this peer. */
  of(client: string): number {
    return this.#samples.get(client)?.speed ?? 0;
  }
}
