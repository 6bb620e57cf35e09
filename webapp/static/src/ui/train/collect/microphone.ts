/** The microphone of the device: on and off, and single recordings of what it hears. */

import { collect } from "../../../i18n/texts/volunteers/data/collect";
import { toWav } from "../local-data/decode-audio";
import { problemOf } from "./camera";

/** A recorder begins a little late; an example is the middle of what was recorded. */
const MARGIN_S = 0.1;

/** Owns the stream of the microphone, which is on between `start` and `stop`. */
export class Microphone {
  #stream: MediaStream | null = null;

  /** `rate` and `seconds` are those of an example. */
  constructor(
    private readonly rate: number,
    private readonly seconds: number,
  ) {}

  get on(): boolean {
    return this.#stream !== null;
  }

  /** Turns the microphone on. Throws an error for people, which says what to do. */
  async start(): Promise<void> {
    // Browsers have no microphone for pages without HTTPS.
    if (!navigator.mediaDevices || !("MediaRecorder" in globalThis)) {
      throw new Error(collect.microphone.insecure);
    }
    try {
      // Filters for telephone calls would change the sounds.
      this.#stream = await navigator.mediaDevices.getUserMedia({
        audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false },
      });
    } catch (error) {
      throw new Error(problemOf(error, collect.microphone));
    }
  }

  /** Turns the microphone off. */
  stop(): void {
    for (const track of this.#stream?.getTracks() ?? []) track.stop();
    this.#stream = null;
  }

  /** Records an example, as a WAV file; null if the microphone is off, or is turned off meanwhile. */
  async recording(): Promise<Blob | null> {
    const stream = this.#stream;
    if (stream === null) return null;
    const recorded = await record(stream, this.seconds + MARGIN_S);
    if (this.#stream !== stream) return null;
    return toWav(recorded, this.rate);
  }
}

/** Records for some seconds, or until the stream ends. */
function record(stream: MediaStream, seconds: number): Promise<Blob> {
  const recorder = new MediaRecorder(stream);
  const parts: Blob[] = [];
  recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
  const done = new Promise<Blob>((resolve) => {
    recorder.addEventListener("stop", () => resolve(new Blob(parts, { type: recorder.mimeType })));
  });
  recorder.addEventListener("start", () => {
    setTimeout(() => recorder.state !== "inactive" && recorder.stop(), 1000 * seconds);
  });
  recorder.start();
  return done;
}
