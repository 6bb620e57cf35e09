/** Where this client's own training stands, for units that go on from there. */

interface SentResult {
  readonly lease: number;
  /** float32. */
  readonly local: ArrayBuffer;
}

/** Refusals come soon: in between few units end. */
const MOST = 2;

/** The weights that this client sent last and that were not refused. Owns them. */
export class LocalState {
  #sent: readonly SentResult[] = [];

  /** The newest; null before the first. */
  get newest(): ArrayBuffer | null {
    return this.#sent.at(-1)?.local ?? null;
  }

  sent(lease: number, local: ArrayBuffer): void {
    this.#sent = [...this.#sent, { lease, local }].slice(-MOST);
  }

  refused(lease: number): void {
    this.#sent = this.#sent.filter((one) => one.lease !== lease);
  }

  /** What came before it is not gone back to. */
  counted(lease: number): void {
    const at = this.#sent.findIndex((one) => one.lease === lease);
    this.#sent = this.#sent.slice(Math.max(0, at));
  }

  /** The visit is over. */
  forget(): void {
    this.#sent = [];
  }
}
