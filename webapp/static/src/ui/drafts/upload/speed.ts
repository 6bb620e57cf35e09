/** How fast bytes go, over the last seconds: one slow or fast piece says little. Pure but for what it remembers. */

const WINDOW_SECONDS = 12;

export class UploadSpeed {
  readonly #marks: { at: number; bytes: number }[] = [];

  /** So many bytes in all had gone by `at` (seconds). */
  mark(at: number, bytes: number): void {
    this.#marks.push({ at, bytes });
    while (this.#marks.length > 2 && at - (this.#marks[1]?.at ?? at) > WINDOW_SECONDS) this.#marks.shift();
  }

  /** Bytes per second; null as long as it cannot be told. */
  get rate(): number | null {
    const [first] = this.#marks;
    const last = this.#marks.at(-1);
    if (!first || !last || last.at - first.at < 0.5) return null;
    return (last.bytes - first.bytes) / (last.at - first.at);
  }

  /** Seconds until so many more bytes have gone; null as long as it cannot be told. */
  left(bytes: number): number | null {
    const { rate } = this;
    return rate === null || rate <= 0 ? null : bytes / rate;
  }

  /** After a pause what was before says nothing. */
  forget(): void {
    this.#marks.length = 0;
  }
}
