/** Measures a link's throughput, from the waiting bytes while there are any. Times are seconds. */

/** Fewer bytes than this are not measured: the system's buffers absorb them. */
const LEAST_BYTES = 1 << 18;
const LEAST_SECONDS = 0.01;

export class ThroughputMeter {
  /** Bytes per second; 0 until enough bytes were sent without a pause. */
  rate = 0;
  #sent = 0;
  #begun: { readonly at: number; readonly gone: number } | null = null;

  /** Records that `bytes` more were given to the link, of which `buffered` wait. */
  gave(bytes: number, buffered: number, now: number): void {
    this.#sent += bytes;
    this.look(buffered, now);
  }

  look(buffered: number, now: number): void {
    const gone = this.#sent - buffered;
    if (this.#begun === null) {
      if (buffered > 0) this.#begun = { at: now, gone };
      return;
    }
    const [bytes, seconds] = [gone - this.#begun.gone, now - this.#begun.at];
    const measured = bytes >= LEAST_BYTES && seconds >= LEAST_SECONDS;
    if (measured) this.rate = this.rate === 0 ? bytes / seconds : (this.rate + bytes / seconds) / 2;
    if (buffered === 0) this.#begun = null;
    else if (measured) this.#begun = { at: now, gone };
  }
}
