/** Access to the WASM backend's memory, so that loops can run on tensors in place. */

import {
  type DataType,
  getKernel,
  type KernelFunc,
  registerKernel,
  type TensorInfo,
  unregisterKernel,
} from "@tensorflow/tfjs-core";

/** The part of TF.js' BackendWasm that kernels use. */
export interface WasmBackend {
  makeOutput(shape: readonly number[], dtype: DataType): TensorInfo;
  typedArrayFromHeap(tensor: TensorInfo): Float32Array | Int32Array | Uint8Array;
  disposeData(dataId: object): boolean;
  incRef(dataId: object): void;
}

export interface KernelCall {
  readonly inputs: Readonly<Record<string, TensorInfo>>;
  readonly attrs: Readonly<Record<string, unknown>>;
  readonly backend: WasmBackend;
}

export type WasmKernel = (call: KernelCall) => TensorInfo | TensorInfo[];

/** Views are valid until the next allocation: memory may grow and move. Take them after the last makeOutput. */
export function floats(backend: WasmBackend, tensor: TensorInfo): Float32Array {
  return backend.typedArrayFromHeap(tensor) as Float32Array;
}

export function integers(backend: WasmBackend, tensor: TensorInfo): Int32Array {
  return backend.typedArrayFromHeap(tensor) as Int32Array;
}

/** Input `name` of a kernel. */
export function inputOf(call: KernelCall, name: string): TensorInfo {
  const tensor = call.inputs[name];
  if (tensor === undefined) throw new Error(`A kernel was called without its input ${name}.`);
  return tensor;
}

/** Runs another kernel of the backend from within one of ours; the caller disposes the result. */
export function runInner(
  name: string,
  backend: WasmBackend,
  inputs: Record<string, TensorInfo>,
  attrs: object,
): TensorInfo {
  const kernel = getKernel(name, "wasm");
  if (kernel === undefined) throw new Error(`The WASM backend has no kernel ${name}.`);
  return (kernel.kernelFunc as unknown as (call: object) => TensorInfo)({ inputs, attrs, backend });
}

/** A tensor of another shape on the same memory. It owns nothing: only the original is disposed. */
export function viewAs(tensor: TensorInfo, shape: number[]): TensorInfo {
  return { dataId: tensor.dataId, shape, dtype: tensor.dtype };
}

/** Registers a kernel, in place of the backend's own if there is one. */
export function installKernel(name: string, kernel: WasmKernel): void {
  const replaced = getKernel(name, "wasm");
  if (replaced !== undefined) unregisterKernel(name, "wasm");
  registerKernel({
    kernelName: name,
    backendName: "wasm",
    kernelFunc: kernel as unknown as KernelFunc,
    ...(replaced?.setupFunc && { setupFunc: replaced.setupFunc }),
    ...(replaced?.disposeFunc && { disposeFunc: replaced.disposeFunc }),
  });
}
