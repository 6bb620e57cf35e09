/** The camera of the device: on and off, and single pictures of what it sees. */

import { collect } from "../../../i18n/texts/volunteers/data/collect";

/** The longer side of a picture: more than any task's model sees, and small enough to keep many. */
const MOST_PIXELS = 640;
const QUALITY = 0.92;

/** Owns the stream of the camera, which is on between `start` and `stop`. */
export class Camera {
  #stream: MediaStream | null = null;

  constructor(private readonly video: HTMLVideoElement) {}

  get on(): boolean {
    return this.#stream !== null;
  }

  /** Turns the camera on. Throws an error for people, which says what to do. */
  async start(): Promise<void> {
    // Browsers have no camera for pages without HTTPS.
    if (!navigator.mediaDevices) throw new Error(collect.insecure);
    let stream: MediaStream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({
        video: { width: { ideal: MOST_PIXELS }, facingMode: { ideal: "environment" } },
      });
    } catch (error) {
      throw new Error(problemOf(error));
    }
    this.#stream = stream;
    this.video.srcObject = stream;
    await this.video.play();
  }

  /** Turns the camera off. */
  stop(): void {
    for (const track of this.#stream?.getTracks() ?? []) track.stop();
    this.#stream = null;
    this.video.srcObject = null;
  }

  /** Returns what the camera sees now; null while it is off, or has no picture yet. */
  async picture(): Promise<Blob | null> {
    const { videoWidth: width, videoHeight: height } = this.video;
    if (!this.on || width === 0) return null;
    const scale = Math.min(1, MOST_PIXELS / Math.max(width, height));
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    canvas.getContext("2d")?.drawImage(this.video, 0, 0, canvas.width, canvas.height);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", QUALITY));
  }
}

/** What to do where a device is refused, missing or taken. */
export interface DeviceSentences {
  readonly refused: string;
  readonly missing: string;
  readonly broken: string;
}

/** Returns what went wrong, and what to do, for people. */
export function problemOf(error: unknown, sentences: DeviceSentences = collect): string {
  switch (error instanceof DOMException ? error.name : "") {
    case "NotAllowedError":
    case "SecurityError":
      return sentences.refused;
    case "NotFoundError":
    case "OverconstrainedError":
      return sentences.missing;
    default:
      return sentences.broken;
  }
}
