/**
 * Downloads the data files of a task from another server than its own; each file is verified by its SHA-256 before
 * use.
 */

import { DownloadTimeout } from "../../core/data/download";
import { sha256 } from "../../core/numerics/partition";
import { say } from "../../i18n";

const words = say.url;

/** A file as the server describes it. */
export interface UrlFile {
  readonly address: string;
  readonly sha256: string;
  readonly bytes: number;
  /** Its path among the files. */
  readonly name: string;
}

export interface FileDownload {
  /** The host of this page: a file on the same machine may be in its local network. */
  readonly pageHost: string;
  readonly signal: AbortSignal;
  /** Takes the number of bytes that arrived since the last call. */
  readonly onBytes: (bytes: number) => void;
  /** Milliseconds without data after which the download fails. */
  readonly patience?: number;
}

const PATIENCE_MS = 60_000;
/** Hosts of local networks; every IPv6 address, since many of them hold an IPv4 address. */
const LOCAL =
  /^(127\.|10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|0\.|\[)|(^|\.)localhost\.?$/;

/** Downloads all files, one after the other. Throws an error for people. */
export async function fetchFiles(files: readonly UrlFile[], fetching: FileDownload): Promise<File[]> {
  const downloaded: File[] = [];
  for (const file of files) downloaded.push(await fetchFile(file, fetching));
  return downloaded;
}

async function fetchFile(file: UrlFile, fetching: FileDownload): Promise<File> {
  const { host, hostname } = new URL(file.address);
  // A stranger's task must not read from the local network of this device.
  if (LOCAL.test(hostname) && hostname !== fetching.pageHost) throw new Error(words.local(host));
  const watch = new DownloadTimeout(fetching.patience ?? PATIENCE_MS, fetching.signal);
  try {
    const bytes = await receive(file, host, watch, fetching.onBytes);
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
  onBytes: FileDownload["onBytes"],
): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch(file.address, {
    mode: "cors",
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
    signal: watch.signal,
  }).catch((problem: unknown) => {
    // Browsers do not tell pages the cause of such an error.
    throw watch.signal.aborted ? problem : new Error(words.closed(host));
  });
  if (!response.ok) throw new Error(words.missing(file.name, host, response.status));
  const announced = Number(response.headers.get("content-length") ?? 0);
  // If the server compresses the file, the length is that of the compressed one.
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
    onBytes(value.length);
  }
  if (filled < file.bytes) throw new Error(words.tooShort(file.name, host));
  return bytes;
}
