/** The weights of this client's own training, for units that continue from them. */

interface SentResult {
  readonly lease: number;
  /** float32. */
  readonly local: ArrayBuffer;
}

/** Number of results kept: refusals arrive soon, and few units end before they do. */
const MAX_RESULTS = 2;

/** The weights of this client's last results that were not refused. Owns them. */
export class LocalState {
  #sent: readonly SentResult[] = [];

  /** The newest weights; null before the first result. */
  get newest(): ArrayBuffer | null {
    return this.#sent.at(-1)?.local ?? null;
  }

  sent(lease: number, local: ArrayBuffer): void {
    this.#sent = [...this.#sent, { lease, local }].slice(-MAX_RESULTS);
  }

  refused(lease: number): void {
    this.#sent = this.#sent.filter((one) => one.lease !== lease);
  }

  /** Drops the weights from before a counted result: they are not needed again. */
  counted(lease: number): void {
    const at = this.#sent.findIndex((one) => one.lease === lease);
    this.#sent = this.#sent.slice(Math.max(0, at));
  }

  /** Drops all weights at the end of a session. */
  forget(): void {
    this.#sent = [];
  }
}
