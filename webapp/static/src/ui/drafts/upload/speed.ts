/** The upload speed over the last seconds: single pieces vary too much. Pure, apart from its memory. */

const WINDOW_SECONDS = 12;

export class UploadSpeed {
  readonly #marks: { at: number; bytes: number }[] = [];

  /** Records that `bytes` bytes in all were sent by `at` (seconds). */
  mark(at: number, bytes: number): void {
    this.#marks.push({ at, bytes });
    while (this.#marks.length > 2 && at - (this.#marks[1]?.at ?? at) > WINDOW_SECONDS) this.#marks.shift();
  }

  /** Bytes per second; null until it can be estimated. */
  get rate(): number | null {
    const [first] = this.#marks;
    const last = this.#marks.at(-1);
    if (!first || !last || last.at - first.at < 0.5) return null;
    return (last.bytes - first.bytes) / (last.at - first.at);
  }

  /** Returns the seconds for this number of further bytes; null until it can be estimated. */
  left(bytes: number): number | null {
    const { rate } = this;
    return rate === null || rate <= 0 ? null : bytes / rate;
  }

  /** Forgets the speed from before a pause. */
  forget(): void {
    this.#marks.length = 0;
  }
}
