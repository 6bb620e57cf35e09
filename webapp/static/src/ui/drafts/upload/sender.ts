/** Uploads a file: reads it for its hash, sends it by tus 1.0, pauses, and resumes after interruptions. */

import type { DetailedError, Upload, UploadOptions } from "tus-js-client";
import { Refusal } from "../../lib/api";
import { loadTus, refusalOf, statusOf } from "./api";

/** `lost`: the connection is lost and retried. `refused` says why, in a sentence. */
export type UploadState = "reading" | "sending" | "paused" | "lost" | "done" | "refused" | "cancelled";

export interface UploadListener {
  readonly state: UploadState;
  /** Bytes that were read, or sent. */
  readonly bytes: number;
  readonly why: string;
}

// An upload is retried for a day, and from the first pause on once it has come further.
const RETRIES_MS = [500, 1000, 2000, 4000, 8000, ...Array<number>(5000).fill(15_000)];

/** Uploads one file to `address`. `hash` reads all of it, `tell` gets each state. */
export class FileUpload {
  readonly #stop = new AbortController();
  #tus: Upload | null = null;
  #end: () => void = () => undefined;
  #state: UploadState = "reading";
  #bytes = 0;

  constructor(
    private readonly file: File,
    private readonly address: string,
    private readonly pieceBytes: number,
    private readonly hash: (hashed: (bytes: number) => void, signal: AbortSignal) => Promise<string>,
    private readonly tell: (status: UploadListener) => void,
    private readonly unreadable: string,
    private readonly retryDelays = RETRIES_MS,
  ) {}

  /** Announces the file and sends all of it. The server can refuse it before it is read. */
  async begin(): Promise<void> {
    const { address: endpoint } = this;
    const filename = this.file.name;
    await this.#guarded(async () => {
      await this.#run({ endpoint, metadata: { filename }, onUploadUrlAvailable: () => this.#leave() });
      const sha256 = await this.#read();
      await this.#run({ endpoint, metadata: { filename, sha256 } });
    });
  }

  /**
   * Resumes the upload `id`, of which the server has a part, if the file's hash is the same. Returns false for
   * another file; nothing is sent then.
   */
  async goOn(id: string, sha256: string | null): Promise<boolean> {
    let same = true;
    await this.#guarded(async () => {
      same = sha256 === null || (await this.#read()) === sha256;
      if (same) await this.#run({ uploadUrl: `${this.address}/${id}` });
      else this.#show("cancelled");
    });
    return same;
  }

  pause(): void {
    void this.#tus?.abort();
    this.#show("paused");
  }

  resume(): void {
    this.#show("sending");
    this.#tus?.start();
  }

  /** Retries immediately, since the network is back. */
  hurry(): void {
    if (this.#state !== "lost") return;
    void this.#tus?.abort();
    this.#tus?.start();
  }

  /** Stops sending, and lets the server delete what has arrived. */
  async cancel(): Promise<void> {
    this.#show("cancelled");
    this.#stop.abort();
    this.#end();
    // The server may have nothing to delete.
    await this.#tus?.abort(true).catch(() => undefined);
  }

  async #read(): Promise<string> {
    this.#show("reading", 0);
    const digest = await this.hash((bytes) => this.#show("reading", bytes), this.#stop.signal);
    this.#bytes = 0;
    return digest;
  }

  /** Ends sending, while the server keeps the upload. */
  #leave(): void {
    void this.#tus?.abort();
    this.#end();
  }

  async #run(options: UploadOptions): Promise<void> {
    const { Upload: TusUpload } = await loadTus();
    this.#stop.signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      this.#end = resolve;
      this.#tus = new TusUpload(this.file, {
        chunkSize: this.pieceBytes,
        retryDelays: this.retryDelays,
        storeFingerprintForResuming: false,
        onShouldRetry: (error) => this.#mends(error),
        onProgress: (sent) => this.#show("sending", sent),
        onSuccess: () => resolve(),
        onError: (error) => reject(refusalOf(error)),
        ...options,
      });
      this.#tus.start();
    });
  }

  /** Whether asking the server for its offset and continuing there can repair the error. */
  #mends(error: DetailedError): boolean {
    const status = statusOf(error);
    if (status === 0) this.#show("lost");
    return status === 0 || status === 409;
  }

  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#show("done", this.file.size);
    } catch (error) {
      if (this.#state === "cancelled") return;
      if (error instanceof Refusal) return this.#show("refused", this.#bytes, error.message);
      if (!(error instanceof DOMException)) throw error;
      // The file was moved, changed or deleted while it was read.
      this.#show("refused", this.#bytes, this.unreadable);
    }
  }

  #show(state: UploadState, bytes = this.#bytes, why = ""): void {
    if (this.#state === "cancelled") return;
    this.#state = state;
    this.#bytes = bytes;
    this.tell({ state, bytes, why });
  }
}
