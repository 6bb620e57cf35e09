/** Downloads that fail if the server stops sending: one that lost power never ends its connections. */

import { later } from "../user-messages";

/** Milliseconds without data after which a file of this server is given up. */
const PATIENCE = 30_000;

export interface Download {
  readonly ok: boolean;
  readonly status: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Downloads a whole answer of this server. Rejects with a TypeError, as without a network, if no data arrive for
 * `patience` milliseconds.
 */
export async function download(
  address: string,
  request: RequestInit = {},
  patience = PATIENCE,
): Promise<Download> {
  const timeout = new DownloadTimeout(patience, request.signal);
  try {
    const response = await fetch(address, { ...request, signal: timeout.signal });
    const renew = (chunk: Uint8Array, arrived: TransformStreamDefaultController<Uint8Array>): void => {
      timeout.restart();
      arrived.enqueue(chunk);
    };
    const body = response.body?.pipeThrough(new TransformStream({ transform: renew })) ?? null;
    const bytes = new Uint8Array(await new Response(body).arrayBuffer());
    return { ok: response.ok, status: response.status, bytes };
  } catch (problem) {
    throw timeout.stalled ? new TypeError(later("The server does not answer.")) : problem;
  } finally {
    timeout.end();
  }
}

/** Aborts if no data arrive for a while, or if the caller aborts. */
export class DownloadTimeout {
  readonly #abort = new AbortController();
  readonly #patience: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  stalled = false;

  constructor(patience: number, signal?: AbortSignal | null) {
    this.#patience = patience;
    signal?.addEventListener("abort", () => this.#abort.abort(signal.reason), { signal: this.#abort.signal });
    if (signal?.aborted) this.#abort.abort(signal.reason);
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
