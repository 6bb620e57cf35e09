/** A file on its way to the server: read for its hash, sent piece by piece, paused, and taken up again after cuts. */

import { NoAnswer, Refusal } from "../../lib/api";
import { type UploadPort, UrlSource } from "./api";

/** `lost`: the connection; it is tried again. `refused` says why, in a sentence. */
export type UploadState = "reading" | "sending" | "paused" | "lost" | "done" | "refused" | "cancelled";

export interface UploadListener {
  readonly state: UploadState;
  /** Bytes that were read, or that are at the server. */
  readonly bytes: number;
  readonly why: string;
}

/** What a file is, as far as sending needs it. */
export interface UploadSource {
  readonly name: string;
  readonly size: number;
  slice(from: number, to: number): Blob;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** Owns one file's way. `hash` reads it through, `tell` hears how it stands. */
export class FileUpload {
  #stop = new AbortController();
  #wake: () => void = () => undefined;
  #state: UploadState = "reading";
  #bytes = 0;
  #paused = false;

  constructor(
    private readonly file: UploadSource,
    private readonly port: UploadPort,
    private readonly pieceBytes: number,
    private readonly hash: (hashed: (bytes: number) => void, signal: AbortSignal) => Promise<string>,
    private readonly tell: (status: UploadListener) => void,
    private readonly unreadable: string,
    private readonly firstPause = FIRST_PAUSE_MS,
  ) {}

  /** Whether bytes would have to be sent again if the page went away now. */
  get busy(): boolean {
    return ["reading", "sending", "lost", "paused"].includes(this.#state);
  }

  /** Announces the file and sends all of it. What the server would refuse at once is told before it is read. */
  async begin(): Promise<void> {
    await this.#guarded(async () => {
      await this.port.begin(this.file.name, this.file.size);
      const sha256 = await this.#read();
      await this.port.begin(this.file.name, this.file.size, sha256);
      await this.#sendAll(0, sha256);
    });
  }

  /**
   * Goes on with a file of which the server has a part, if it is the same by its hash. Returns false where it is
   * another one; nothing is sent then.
   */
  async goOn(sha256: string | null): Promise<boolean> {
    let same = true;
    await this.#guarded(async () => {
      same = sha256 === null || (await this.#read()) === sha256;
      if (same) await this.#sendAll(null, sha256);
      else this.#show("cancelled");
    });
    return same;
  }

  pause(): void {
    this.#paused = true;
    this.#interrupt();
  }

  resume(): void {
    this.#paused = false;
    this.#wake();
  }

  /** The network is there again: tries at once. */
  hurry(): void {
    if (!this.#paused) this.#wake();
  }

  /** Sends no more, and has the server forget what came. */
  async cancel(): Promise<void> {
    this.#show("cancelled");
    this.#interrupt();
    this.#wake();
    // Nothing to forget where the file was only read.
    await this.port.forget().catch(() => undefined);
  }

  async #read(): Promise<string> {
    this.#show("reading", 0);
    const digest = await this.hash((bytes) => this.#show("reading", bytes), this.#stop.signal);
    this.#bytes = 0;
    return digest;
  }

  async #sendAll(position: number | null, sha256: string | null): Promise<void> {
    let offset = position;
    let pause = this.firstPause;
    while (this.#state !== "cancelled") {
      if (this.#paused) {
        this.#show("paused");
        await this.#sleep(null);
        offset = null;
        continue;
      }
      try {
        offset ??= await this.port.offset(sha256);
        if (offset === this.file.size) break;
        this.#show("sending", offset);
        const piece = this.file.slice(offset, Math.min(this.file.size, offset + this.pieceBytes));
        offset = await this.port.piece(offset, piece, this.#stop.signal);
        pause = this.firstPause;
      } catch (error) {
        if (!this.#mends(error)) throw error;
        offset = null;
        if (isAbort(error)) continue;
        if (error instanceof NoAnswer) this.#show("lost");
        await this.#sleep(pause);
        pause = Math.min(LONGEST_PAUSE_MS, 2 * pause);
      }
    }
    if (this.#state !== "cancelled") this.#show("done", this.file.size);
  }

  /** Whether asking the server where it is and going on from there is enough. */
  #mends(error: unknown): boolean {
    return error instanceof NoAnswer || error instanceof UrlSource || isAbort(error);
  }

  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#state === "cancelled" || isAbort(error)) return;
      if (error instanceof Refusal) return this.#show("refused", this.#bytes, error.message);
      if (!(error instanceof DOMException)) throw error;
      // The file was moved, changed or taken away while it was read.
      this.#show("refused", this.#bytes, this.unreadable);
    }
  }

  #interrupt(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
  }

  #sleep(milliseconds: number | null): Promise<void> {
    return new Promise((resolve) => {
      const timer = milliseconds === null ? undefined : setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #show(state: UploadState, bytes = this.#bytes, why = ""): void {
    if (this.#state === "cancelled") return;
    this.#state = state;
    this.#bytes = bytes;
    this.tell({ state, bytes, why });
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
