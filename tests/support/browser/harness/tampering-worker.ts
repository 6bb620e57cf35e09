/**
 * The training worker of a page that lies: a message `tamper` has it change one bit in one step, either of a kernel's
 * first output, or of the weights after the step.
 */

import type { KernelFunc, Tensor, TensorInfo } from "@tensorflow/tfjs-core";
import type { WasmBackend } from "../../../../webapp/static/src/engine/wasm/heap";
import "../../../../webapp/static/src/workers/training/main";
import type { TrainingStep } from "../../../../webapp/static/src/workers/training/step";

interface Tampering {
  readonly type: "tamper";
  readonly step: number;
  /** Null for the weights. */
  readonly kernel: string | null;
}

let current = 0;
let done = false;

function flipBit(wasm: WasmBackend, tensor: TensorInfo): void {
  const values = wasm.typedArrayFromHeap(tensor) as Float32Array;
  // A change of a value that a later ReLU sets to zero would be lost: the largest is not.
  const largest = values.reduce((best, value, place) => (value > (values[best] ?? 0) ? place : best), 0);
  // Its sign: a smaller change of the surest answer is lost where the answer's probability is rounded to 1.
  const bytes = new DataView(values.buffer, values.byteOffset + 4 * largest + 3, 1);
  bytes.setUint8(0, bytes.getUint8(0) ^ 0x80);
  done = true;
}

async function tamper({ step, kernel: name }: Tampering): Promise<void> {
  // Late, as in the worker's entry, to which nothing else may belong.
  const { backend, getKernel, registerKernel, unregisterKernel } = await import("@tensorflow/tfjs-core");
  const { TrainingStep } = await import("../../../../webapp/static/src/workers/training/step");
  const flip = (tensor: TensorInfo) => flipBit(backend() as unknown as WasmBackend, tensor);
  const run = TrainingStep.prototype.run;
  TrainingStep.prototype.run = function runTampering(this: TrainingStep, ...given) {
    current = given[2].step;
    const result = run.apply(this, given);
    if (name === null && current === step) flip(result.variables.trainable as Tensor);
    return result;
  };
  if (name === null) return;
  const kernel = getKernel(name, "wasm");
  if (kernel === undefined) throw new Error(`There is no kernel ${name}.`);
  const kernelFunc: KernelFunc = (call) => {
    const output = kernel.kernelFunc(call);
    if (current === step && !done) flip([output].flat()[0] as TensorInfo);
    return output;
  };
  unregisterKernel(name, "wasm");
  registerKernel({ ...kernel, kernelFunc });
}

const perform = self.onmessage;
let tampered = Promise.resolve();
self.onmessage = (event: MessageEvent<{ type: string }>) => {
  if (event.data.type === "tamper") tampered = tamper(event.data as Tampering);
  else void tampered.then(() => perform?.call(self, event));
};
