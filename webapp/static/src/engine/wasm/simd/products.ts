/** Matrix products on the compiled kernels: any operand may be transposed at no cost. */

import { BatchMatMul, type TensorInfo, util } from "@tensorflow/tfjs-core";
import { inputOf, type KernelCall, type WasmKernel } from "../heap";
import { floorOf } from "./activation";
import { Machine } from "./kernel-module";

/** Scratch of one product: what a tile needs, a row of biases, a panel of 256 rows. */
const SCRATCH = 224 + 32 + 256 * 32;

/** Products that one step of the innermost loop adds, roughly. */
export const LANES = 16;

interface Operand {
  /** Bytes from one row, column or matrix to the next; a batch of one serves all. */
  readonly row: number;
  readonly column: number;
  readonly matrix: number;
  readonly rows: number;
  readonly columns: number;
  readonly batch: number;
}

function operand({ shape }: TensorInfo, transposed: boolean): Operand {
  const [height = 1, width = 1] = shape.slice(-2);
  const batch = util.sizeFromShape(shape.slice(0, -2));
  const matrix = batch === 1 ? 0 : height * width * 4;
  return transposed
    ? { row: 4, column: width * 4, matrix, rows: width, columns: height, batch }
    : { row: width * 4, column: 4, matrix, rows: height, columns: width, batch };
}

/** Shape of the batch if the kernel can do it: equal batches, or one operand for all. */
function batchShape(a: TensorInfo, b: TensorInfo): number[] | null {
  const [left, right] = [a.shape.slice(0, -2), b.shape.slice(0, -2)];
  const one = (shape: number[]) => shape.every((length) => length === 1);
  const rank = Math.max(left.length, right.length);
  const padded = (shape: number[]) => [...new Array<number>(rank - shape.length).fill(1), ...shape];
  if (one(right)) return padded(left);
  if (one(left) || util.arraysEqual(padded(left), padded(right))) return padded(right);
  return null;
}

/** Replaces BatchMatMul and _FusedMatMul; rare cases go to `original`. */
export function product(machine: Machine, original: WasmKernel): WasmKernel {
  return (call: KernelCall) => {
    const { backend, inputs, attrs } = call;
    const [a, b, bias] = [inputOf(call, "a"), inputOf(call, "b"), inputs.bias];
    const { transposeA = false, transposeB = false } = attrs as Record<string, boolean | undefined>;
    const batches = batchShape(a, b);
    const floor = floorOf(attrs.activation);
    const floats = a.dtype === "float32" && b.dtype === "float32";
    if (batches === null || floor === null || !floats) return original(call);
    const [left, right] = [operand(a, transposeA), operand(b, transposeB)];
    util.assert(left.columns === right.rows, () => `${BatchMatMul}: [${a.shape}] does not fit [${b.shape}].`);
    const result = backend.makeOutput([...batches, left.rows, right.columns], "float32");
    const at = (tensor: TensorInfo | undefined) => (tensor ? Machine.address(backend, tensor) : 0);
    const values = [
      ...[at(a), left.row, left.column, left.matrix],
      ...[at(b), right.row, right.column, right.matrix],
      ...[at(result), left.rows, right.columns, left.columns, at(bias), floor],
    ];
    const rows = util.sizeFromShape(batches) * left.rows;
    machine.run("multiplyBatch", rows, (rows * right.columns * left.columns) / LANES, values, SCRATCH);
    return result;
  };
}
