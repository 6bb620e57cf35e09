/**
 * A connection to a task that asks newcomers for a proof of work: before it opens, it asks the server whether this
 * client has to prove work, and does. The session knows nothing of it.
 */

import { MOST_BITS, PARTS, seedOf } from "../../core/crypto/proof-of-work";
import { download } from "../../core/data/download";
import type { Prover } from "../workers/work-proof-worker";
import type { Transport, TransportEvents } from "./socket";

interface ChallengeAnswer {
  readonly challenge: string | null;
  readonly bits?: number;
}

/** How far a proof is: parts found, and the seconds that the others will take; null before the first part. */
export interface ProofProgress {
  readonly share: number;
  readonly seconds: number | null;
}

export interface ProvingOptions {
  /** The address of this client's challenges. */
  readonly challenges: () => Promise<string>;
  readonly prove: Prover;
  /** Null when there is nothing to prove any more. */
  readonly progressed: (progress: ProofProgress | null) => void;
}

export class ProvingTransport implements Transport {
  readonly #inner: Transport;
  readonly #options: ProvingOptions;
  #current: AbortController | null = null;

  constructor(inner: Transport, options: ProvingOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  get address(): string {
    return this.#inner.address;
  }

  get buffered(): number {
    return this.#inner.buffered;
  }

  open(events: TransportEvents): void {
    this.close();
    const current = new AbortController();
    this.#current = current;
    const isCurrent = () => this.#current === current;
    void this.#admitted(current.signal)
      .catch(() => false)
      .then((admitted) => {
        if (!isCurrent()) return;
        this.#options.progressed(null);
        if (admitted) this.#inner.open(events);
        else events.closed();
      });
  }

  send(frame: Uint8Array<ArrayBuffer>): void {
    this.#inner.send(frame);
  }

  close(): void {
    if (this.#current !== null) this.#options.progressed(null);
    this.#current?.abort();
    this.#current = null;
    this.#inner.close();
  }

  /** Returns whether the server asks for nothing any more. Throws if it is away. */
  async #admitted(signal: AbortSignal): Promise<boolean> {
    const address = await this.#options.challenges();
    const answer = await download(address, { signal, cache: "no-store" });
    // The socket tells the reason of a refusal.
    if (!answer.ok) return answer.status < 500;
    const { challenge, bits = 0 } = JSON.parse(new TextDecoder().decode(answer.bytes)) as ChallengeAnswer;
    if (challenge === null) return true;
    const seed = seedOf(challenge);
    if (seed === null || bits > MOST_BITS || bits < 5) return false;
    const nonces = await this.#prove(seed, bits, signal);
    const proved = await download(address, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ challenge, nonces }),
      signal,
    });
    return proved.ok;
  }

  #prove(seed: Uint8Array<ArrayBuffer>, bits: number, signal: AbortSignal): Promise<readonly number[]> {
    const began = performance.now();
    this.#options.progressed({ share: 0, seconds: null });
    const found = (parts: number): void => {
      const each = (performance.now() - began) / 1000 / parts;
      this.#options.progressed({ share: parts / PARTS, seconds: each * (PARTS - parts) });
    };
    return this.#options.prove({ seed, bits }, found, signal);
  }
}
