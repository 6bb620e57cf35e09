/**
 * Matrix products for the WASM backend. TF.js 4.22 passes only plain products of two matrices to XNNPACK; with a
 * transposed operand, as in every gradient of a dense layer, it uses a scalar loop. Copying the transposed operand
 * first costs far less.
 */

import { type KernelConfig, type TensorInfo, Transpose } from "@tensorflow/tfjs-core";
import { inputOf, type KernelCall, runInner, viewAs, type WasmBackend, type WasmKernel } from "./heap";

function matrixView(tensor: TensorInfo): TensorInfo {
  return viewAs(tensor, [1, ...tensor.shape.slice(-2)]);
}

function transposed(backend: WasmBackend, matrix: TensorInfo): TensorInfo {
  return runInner(Transpose, backend, { x: matrix }, { perm: [0, 2, 1] });
}

const isOneMatrix = (tensor: TensorInfo): boolean =>
  tensor.shape.slice(0, -2).every((length) => length === 1);

/** The kernel that replaces `original`. */
export function batchMatMul(original: KernelConfig): WasmKernel {
  const run = original.kernelFunc as unknown as (call: object) => TensorInfo;
  return (call: KernelCall) => {
    const { backend, attrs } = call;
    const [a, b] = [inputOf(call, "a"), inputOf(call, "b")];
    const { transposeA, transposeB } = attrs as { transposeA: boolean; transposeB: boolean };
    if ((!transposeA && !transposeB) || !isOneMatrix(a) || !isOneMatrix(b)) return run(call);
    const left = transposeA ? transposed(backend, matrixView(a)) : matrixView(a);
    const right = transposeB ? transposed(backend, matrixView(b)) : matrixView(b);
    const plain = { transposeA: false, transposeB: false };
    const product = run({ inputs: { a: left, b: right }, attrs: plain, backend });
    if (transposeA) backend.disposeData(left.dataId);
    if (transposeB) backend.disposeData(right.dataId);
    const rank = Math.max(a.shape.length, b.shape.length);
    return { ...product, shape: [...Array<number>(rank - 2).fill(1), ...product.shape.slice(-2)] };
  };
}
