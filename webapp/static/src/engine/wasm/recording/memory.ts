/** TF.js' WASM backend as recordings use it, and tensors in a recording's own memory. */

import { type DataType, type TensorInfo, util } from "@tensorflow/tfjs-core";
import type { WasmBackend } from "../heap";
import { Arena, type HeapAllocator } from "./arena";

interface TensorData {
  readonly id: number;
  readonly memoryOffset: number;
  readonly shape: readonly number[];
  readonly dtype: DataType;
  refCount: number;
}

/** The members of TF.js' BackendWasm that a recording replaces or calls. */
export interface RecordableBackend extends WasmBackend {
  dataIdNextNumber: number;
  readonly dataIdMap: {
    get(id: object): TensorData;
    set(id: object, data: TensorData): void;
    has(id: object): boolean;
    delete(id: object): boolean;
  };
  readonly wasm:
    | (HeapAllocator & {
        readonly HEAPU8: Uint8Array;
        readonly tfjs: {
          registerTensor(id: number, size: number, address: number): void;
          disposeData(id: number): void;
        };
      })
    | null;
  makeOutput(shape: readonly number[], dtype: DataType, address?: number, values?: TensorValues): TensorInfo;
  write(values: TensorValues | null, shape: readonly number[], dtype: DataType): object;
  move(...given: unknown[]): void;
  readSync(...given: unknown[]): unknown;
  disposeData(id: object, force?: boolean): boolean;
}

export type TensorValues = Float32Array | Int32Array | Uint8Array;

export function bytesOf({ shape, dtype }: TensorInfo): number {
  return util.sizeFromShape(shape) * util.bytesPerElement(dtype);
}

/** The tensors of a recording. Their places stay theirs, although several may have the same one at different times. */
export class RecordedTensors {
  readonly #ids = new Set<object>();
  /** Those whose values no later tensor may overwrite. */
  readonly #constant = new Set<object>();
  readonly #arena: Arena;

  constructor(
    readonly backend: RecordableBackend,
    mostBytes: number,
  ) {
    this.#arena = new Arena(this.#wasm, mostBytes);
  }

  has(id: object): boolean {
    return this.#ids.has(id);
  }

  allocate(shape: readonly number[], dtype: DataType, isConstant = false): TensorInfo {
    const id = this.backend.dataIdNextNumber++;
    const info: TensorInfo = { dataId: { id }, shape: [...shape], dtype };
    const address = isConstant ? this.#arena.keep(bytesOf(info)) : this.#arena.take(bytesOf(info));
    this.backend.dataIdMap.set(info.dataId, { id, memoryOffset: address, shape, dtype, refCount: 1 });
    this.#wasm.tfjs.registerTensor(id, util.sizeFromShape([...shape]), address);
    this.#ids.add(info.dataId);
    if (isConstant) this.#constant.add(info.dataId);
    return info;
  }

  /** Returns a block for other values than a tensor's, which lasts as long as the recording. */
  block(bytes: number): number {
    return this.#arena.keep(bytes);
  }

  /** Lets later tensors have the place of one that nothing refers to. Returns whether that is so. */
  release(id: object, force: boolean): boolean {
    const data = this.backend.dataIdMap.get(id);
    data.refCount -= 1;
    if (data.refCount > 0 && !force) return false;
    if (!this.#constant.has(id)) this.#arena.give(data.memoryOffset);
    return true;
  }

  fill(info: TensorInfo, values: TensorValues): void {
    const bytes = new Uint8Array(values.buffer, values.byteOffset, bytesOf(info));
    this.#wasm.HEAPU8.set(bytes, this.#address(info));
  }

  copy(from: TensorInfo, to: TensorInfo): void {
    const start = this.#address(from);
    this.#wasm.HEAPU8.copyWithin(this.#address(to), start, start + bytesOf(from));
  }

  /** Tells XNNPACK that a tensor's values are new: it keeps filters by the number of their tensor. */
  renew({ dataId, shape }: TensorInfo): void {
    const { id, memoryOffset } = this.backend.dataIdMap.get(dataId);
    this.#wasm.tfjs.disposeData(id);
    this.#wasm.tfjs.registerTensor(id, util.sizeFromShape(shape), memoryOffset);
  }

  dispose(): void {
    if (this.backend.wasm === null) return; // The backend was disposed, and its memory with it.
    for (const dataId of this.#ids) {
      this.#wasm.tfjs.disposeData(this.backend.dataIdMap.get(dataId).id);
      this.backend.dataIdMap.delete(dataId);
    }
    this.#ids.clear();
    this.#arena.dispose();
  }

  get #wasm(): NonNullable<RecordableBackend["wasm"]> {
    const { wasm } = this.backend;
    if (wasm === null) throw new Error("The backend was disposed.");
    return wasm;
  }

  #address({ dataId }: TensorInfo): number {
    return this.backend.dataIdMap.get(dataId).memoryOffset;
  }
}
