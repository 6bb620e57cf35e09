/**
 * Limits the memory of a backend's tensors. A graph of a few hundred bytes can name tensors of any size: without a
 * limit the browser ends the page, and TF.js' WebAssembly writes to address 0 when it gets no memory.
 */

import { backend, type DataType, engine, util } from "@tensorflow/tfjs-core";
import { BackendFailure } from "./backend-health";

/** The part of a device's memory that a page's tensors may take. */
const SHARE = 0.75;
/** The GiB of a device whose browser does not tell them. */
const UNTOLD = 4;
const GIB = 2 ** 30;
/** WebAssembly's addresses have 32 bits. */
const HEAP = 4 * GIB;

/** The members of TF.js' backends through which every tensor of a graph is allocated. */
interface Allocator {
  wasm?: { _malloc(bytes: number): number; _free(address: number): void };
  makeTensorInfo?(shape: number[], dtype: DataType, ...values: unknown[]): unknown;
}

const limited = new WeakSet<object>();

/** Returns the bytes that all tensors of this page may take. */
export function mostBytes(): number {
  const { deviceMemory = UNTOLD } = navigator as Navigator & { readonly deviceMemory?: number };
  return SHARE * deviceMemory * GIB;
}

function check(bytes: number, most: number): void {
  if (engine().state.numBytes + bytes > most) throw new BackendFailure("memory");
}

/**
 * Makes the current backend throw a BackendFailure if its tensors would take over `most` bytes. Plain JavaScript has
 * allocated a tensor's values by then: a single one is limited by the browser alone.
 */
export function limitMemory(most: number): void {
  const current = backend() as unknown as Allocator;
  const owner = current.wasm ?? current;
  if (limited.has(owner)) return;
  limited.add(owner);
  if (current.wasm === undefined) limitTensors(current, most);
  else limitHeap(current.wasm, Math.min(most, HEAP));
}

function limitHeap(heap: NonNullable<Allocator["wasm"]>, most: number): void {
  // Emscripten replaces its function in the first call.
  heap._free(heap._malloc(1));
  const allocate = heap._malloc;
  heap._malloc = (bytes) => {
    check(bytes, most);
    const address = allocate(bytes);
    if (address === 0 && bytes > 0) throw new BackendFailure("memory");
    return address;
  };
}

function limitTensors(owner: Allocator, most: number): void {
  const make = owner.makeTensorInfo?.bind(owner);
  if (make === undefined) return;
  owner.makeTensorInfo = (shape, dtype, ...values) => {
    check(util.sizeFromShape(shape) * util.bytesPerElement(dtype), most);
    return make(shape, dtype, ...values);
  };
}
