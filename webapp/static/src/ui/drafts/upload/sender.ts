/** Uploads a file: reads it for its hash, sends it piece by piece, pauses, and resumes after interruptions. */

import { NoAnswer, Refusal } from "../../lib/api";
import { type UploadPort, UrlSource } from "./api";

/** `lost`: the connection is lost and retried. `refused` says why, in a sentence. */
export type UploadState = "reading" | "sending" | "paused" | "lost" | "done" | "refused" | "cancelled";

export interface UploadListener {
  readonly state: UploadState;
  /** Bytes that were read, or that have arrived at the server. */
  readonly bytes: number;
  readonly why: string;
}

/** The properties of a file that an upload needs. */
export interface UploadSource {
  readonly name: string;
  readonly size: number;
  slice(from: number, to: number): Blob;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** Uploads one file. `hash` reads all of it, `tell` gets each state. */
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

  /** Whether leaving the page now would require sending bytes again. */
  get busy(): boolean {
    return ["reading", "sending", "lost", "paused"].includes(this.#state);
  }

  /** Announces the file and sends all of it. The server can refuse it before it is read. */
  async begin(): Promise<void> {
    await this.#guarded(async () => {
      await this.port.begin(this.file.name, this.file.size);
      const sha256 = await this.#read();
      await this.port.begin(this.file.name, this.file.size, sha256);
      await this.#sendAll(0, sha256);
    });
  }

  /**
   * Resumes a file of which the server has a part, if its hash is the same. Returns false for another file; nothing
   * is sent then.
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

  /** Retries immediately, since the network is back. */
  hurry(): void {
    if (!this.#paused) this.#wake();
  }

  /** Stops sending, and lets the server delete what has arrived. */
  async cancel(): Promise<void> {
    this.#show("cancelled");
    this.#interrupt();
    this.#wake();
    // The server has nothing to delete if the file was only read.
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

  /** Whether asking the server for its offset and continuing there can repair the error. */
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
      // The file was moved, changed or deleted while it was read.
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
