/** Gives the training worker in Node.js the globals of a browser's worker, and files in place of addresses. */

/** The parts of Node.js that are used; `getBuiltinModule` exists from version 20.16 on. */
export interface NodeProcess {
  readonly versions: { readonly node: string };
  readonly stdin: {
    on(event: "data", listener: (piece: Uint8Array) => void): void;
    on(event: "end", listener: () => void): void;
  };
  readonly stdout: { write(bytes: Uint8Array): boolean };
  getBuiltinModule(name: "node:fs"): { readFileSync(path: URL): Uint8Array<ArrayBuffer> };
  exit(code: number): never;
}

/** Returns the bytes of a blob, null if the peer cannot get them. */
export type BlobReader = (sha256: string) => Promise<Uint8Array<ArrayBuffer> | null>;

/** The server's origin in the peer's messages; what is fetched from there comes through the pipe. */
export const ORIGIN = "minga:";

function fetchFrom(
  process: NodeProcess,
  readBlob: BlobReader,
): (address: string | URL | Request) => Promise<Response> {
  const { readFileSync } = process.getBuiltinModule("node:fs");
  return async (address) => {
    const url = address instanceof Request ? address.url : String(address);
    const name = url.slice(url.lastIndexOf("/") + 1);
    if (url === `${ORIGIN}/blobs/${name}`) {
      const bytes = await readBlob(name);
      return bytes === null ? new Response(null, { status: 404 }) : new Response(bytes);
    }
    // Everything else that a worker fetches is a file beside this one.
    const type = name.endsWith(".wasm") ? "application/wasm" : "text/javascript";
    return new Response(readFileSync(new URL(name, import.meta.url)), { headers: { "content-type": type } });
  };
}

/**
 * Turns this process into a worker: `post` gets its messages. TF.js would look for Node.js' own files and threads, so
 * what tells it where it runs is hidden.
 */
export function becomeWorker(
  process: NodeProcess,
  readBlob: BlobReader,
  post: (message: object) => void,
): void {
  class WorkerGlobalScope {}
  const globals = {
    self: globalThis,
    WorkerGlobalScope,
    location: new URL(import.meta.url),
    navigator: { hardwareConcurrency: 1, userAgent: `Node.js ${process.versions.node}` },
    importScripts: () => {
      throw new Error("A module worker imports no scripts.");
    },
    fetch: fetchFrom(process, readBlob),
    postMessage: post,
    // As an error that nobody caught, it ends the process; the peer reads it there.
    reportError: (error: unknown) =>
      queueMicrotask(() => {
        throw error;
      }),
    process: undefined,
    // A process has one thread: a peer starts more processes instead.
    SharedArrayBuffer: undefined,
    // Standard output is for frames.
    console: { ...console, log: console.error, info: console.error, debug: console.error },
  };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
}
