/** Files that a task's clients fetch from another place than its server: checked byte by byte, never half of one. */

import { sha256 } from "../../core/numerics/partition";
import { say } from "../../i18n";

const { url: words } = say;

/** A file as the server says it. */
export interface UrlFile {
  readonly address: string;
  readonly sha256: string;
  readonly bytes: number;
  /** Its path among the files. */
  readonly name: string;
}

export interface FileDownload {
  /** The host of this page: a file of the same machine may lie in its own network. */
  readonly here: string;
  readonly signal: AbortSignal;
  /** So many bytes came since the last call. */
  readonly came: (bytes: number) => void;
  /** Milliseconds of silence after which nobody waits any more. */
  readonly patience?: number;
}

const PATIENCE_MS = 60_000;
const LOCAL = /^(localhost|127\.|10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|0\.|\[)/;

/** All files, one after the other. Throws an error for people. */
export async function fetchFiles(files: readonly UrlFile[], fetching: FileDownload): Promise<File[]> {
  const here: File[] = [];
  for (const file of files) here.push(await fetchFile(file, fetching));
  return here;
}

async function fetchFile(file: UrlFile, fetching: FileDownload): Promise<File> {
  const { host, hostname } = new URL(file.address);
  // A task of a stranger's must not look into the network that this device is in.
  if (LOCAL.test(hostname) && hostname !== fetching.here) throw new Error(words.local(host));
  const watch = new DownloadTimeout(fetching);
  try {
    const bytes = await receive(file, host, watch, fetching.came);
    if ((await sha256(bytes)) !== file.sha256) throw new Error(words.otherFile(file.name, host));
    return new File([bytes], file.name);
  } catch (problem) {
    if (watch.stalled) throw new Error(words.slow(host));
    throw problem;
  } finally {
    watch.end();
  }
}

async function receive(
  file: UrlFile,
  host: string,
  watch: DownloadTimeout,
  came: FileDownload["came"],
): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch(file.address, {
    mode: "cors",
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
    signal: watch.signal,
  }).catch((problem: unknown) => {
    // Browsers do not tell pages which of these it was.
    throw watch.signal.aborted ? problem : new Error(words.closed(host));
  });
  if (!response.ok) throw new Error(words.missing(file.name, host, response.status));
  const announced = Number(response.headers.get("content-length") ?? 0);
  // Where a server packs what it sends, the length is that of the packed file.
  if (announced > file.bytes) throw new Error(words.tooLong(file.name, host));
  const reader = response.body?.getReader();
  const bytes = new Uint8Array(file.bytes);
  let filled = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) break;
    watch.restart();
    if (filled + value.length > file.bytes) throw new Error(words.tooLong(file.name, host));
    bytes.set(value, filled);
    filled += value.length;
    came(value.length);
  }
  if (filled < file.bytes) throw new Error(words.tooShort(file.name, host));
  return bytes;
}

/** Aborts when nothing came for a while, or whoever waits gives up. */
class DownloadTimeout {
  readonly #abort = new AbortController();
  readonly #patience: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  stalled = false;

  constructor({ signal, patience = PATIENCE_MS }: FileDownload) {
    this.#patience = patience;
    signal.addEventListener("abort", () => this.#abort.abort(signal.reason), { signal: this.#abort.signal });
    if (signal.aborted) this.#abort.abort(signal.reason);
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.stalled = true;
      this.#abort.abort();
    }, this.#patience);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }
}
