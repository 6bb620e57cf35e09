/** Files by the SHA-256 of their bytes, from the server's `/blobs/`. */

function hexadecimal(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Fetches one blob and checks that it is what its address says. */
export async function fetchBlob(origin: string, sha256: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch(`${origin}/blobs/${sha256}`);
  if (!response.ok) {
    throw new Error(
      `The server does not have a file this task needs (status ${response.status}). Reload the page.`,
    );
  }
  const bytes = await response.arrayBuffer();
  // Browsers offer hashing only to pages from https or from this computer.
  const subtle = globalThis.crypto?.subtle as SubtleCrypto | undefined;
  if (subtle !== undefined && hexadecimal(await subtle.digest("SHA-256", bytes)) !== sha256) {
    throw new Error("A file of this task was damaged on its way. Reload the page to fetch it again.");
  }
  return new Uint8Array(bytes);
}

/** A version's weights: exactly `length` float32 values. */
export async function fetchWeights(
  origin: string,
  sha256: string,
  length: number,
): Promise<Float32Array<ArrayBuffer>> {
  const bytes = await fetchBlob(origin, sha256);
  if (bytes.byteLength !== 4 * length) {
    throw new Error(
      `The weights have ${bytes.byteLength} bytes, the model needs ${4 * length}. Reload the page.`,
    );
  }
  return new Float32Array(bytes.buffer);
}
