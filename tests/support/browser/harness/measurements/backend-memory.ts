/** What a backend holds, in bytes. */

import { backend as currentBackend, memory } from "@tensorflow/tfjs-core";

/** What the backends of TF.js tell of their memory beyond the interface that they share. */
interface Telling {
  readonly wasm?: { readonly HEAPU8: Uint8Array };
}

/** tf.memory() of WebGL and of WebGPU, which name the same thing differently. */
interface DeviceMemory {
  readonly numBytesInGPUAllocated?: number;
  readonly numBytesAllocatedInGPU?: number;
}

/**
 * Bytes that the backend has taken from the device: textures or buffers, those kept for reuse included, or WASM's
 * whole memory. None of them ever gives anything back while it works, so this is a peak; without any device the bytes
 * of all tensors.
 */
export function bytesTaken(): number {
  const heap = (currentBackend() as Telling).wasm?.HEAPU8;
  if (heap !== undefined) return heap.byteLength;
  const told = memory() as DeviceMemory;
  return told.numBytesInGPUAllocated ?? told.numBytesAllocatedInGPU ?? memory().numBytes;
}
