/** The fused op: runs a program on the current backend. */

import type { MathBackendWebGL } from "@tensorflow/tfjs-backend-webgl";
import type { WebGPUBackend } from "@tensorflow/tfjs-backend-webgpu";
import { type GraphNode, registerOp } from "@tensorflow/tfjs-converter";
import {
  backend,
  engine,
  env,
  getBackend,
  getKernel,
  type Tensor,
  type TensorInfo,
  tensor,
} from "@tensorflow/tfjs-core";
import { ELEMENTWISE } from "../fusion";
import type { Device } from "../fusion/clusters";
import type { NodeDef } from "../fusion/nodes";
import { deviceCode, hostValues, type Program, runsOnHost } from "../fusion/program";
import { holding, type Numbers, scalarNumbers } from "../recording/values";
import { WebGlElementwise } from "../webgl/elementwise";
import { WebGpuElementwise } from "../webgpu/elementwise";

/** Computes one program from tensors and scalars. The caller owns the result. */
export type Elementwise = (tensors: readonly Tensor[], scalars: Numbers) => Tensor;

/** Whether the current backend runs generated shaders. */
export function hasShaders(): boolean {
  return getBackend() === "webgpu" || (getBackend() === "webgl" && env().getNumber("WEBGL_VERSION") === 2);
}

type Kernel = (call: object) => TensorInfo;

/** The compiled WASM kernel of fused ops, if the current backend has it. */
function compiledKernel(): Kernel | undefined {
  return getKernel(ELEMENTWISE, getBackend())?.kernelFunc as unknown as Kernel | undefined;
}

/** What runs fused ops on the current backend; null if nothing does. */
export function fusingDevice(): Device | null {
  if (hasShaders()) return "shaders";
  return compiledKernel() === undefined ? null : "kernels";
}

function adopt(info: TensorInfo): Tensor {
  return engine().makeTensorFromTensorInfo(info);
}

/** Prepares a program for the current backend. */
export function elementwise(program: Program): Elementwise {
  if (runsOnHost(program)) {
    return (_, scalars) => {
      const values = () => hostValues(program, scalars(), [program.result]);
      return holding(tensor([...values()], [...program.shape], program.dtype), values);
    };
  }
  if (compiledKernel() !== undefined) {
    return (tensors, scalars) => {
      const kernel = compiledKernel() as Kernel;
      return adopt(kernel({ inputs: tensors, attrs: { program, scalars }, backend: backend() }));
    };
  }
  const { uniforms } = deviceCode(program, "let");
  if (getBackend() === "webgpu") {
    const shader = new WebGpuElementwise(program);
    return (tensors, scalars) =>
      adopt(shader.run(backend() as WebGPUBackend, tensors, hostValues(program, scalars(), uniforms)));
  }
  const shader = new WebGlElementwise(program);
  return (tensors, scalars) =>
    adopt(shader.run(backend() as MathBackendWebGL, tensors, hostValues(program, scalars(), uniforms)));
}

/** Programs of all loaded graphs, by the number that their node carries. */
const loaded = new Map<number, { readonly tensors: number; readonly run: Elementwise }>();
let lastNumber = 0;

function compute(node: GraphNode): Tensor {
  const program = loaded.get(Number(node.attrs.program));
  if (program === undefined) throw new Error("The graph was disposed; load the model again.");
  const { tensors, run } = program;
  return run(node.inputs.slice(0, tensors), scalarNumbers(node.inputs.slice(tensors)));
}

/**
 * Registers a graph's programs with the executor; returns `nodes` with their numbers, and a function that unregisters
 * them.
 */
export function install(nodes: readonly NodeDef[], programs: readonly Program[]) {
  registerOp(ELEMENTWISE, compute);
  const first = lastNumber + 1;
  lastNumber += programs.length;
  programs.forEach((program, i) => {
    loaded.set(first + i, { tensors: program.inputs, run: elementwise(program) });
  });
  const renamed = nodes.map((node) =>
    node.op === ELEMENTWISE
      ? { ...node, attr: { program: { i: first + Number(node.attr?.program?.i) } } }
      : node,
  );
  const dispose = () => {
    for (let number = first; number < first + programs.length; number++) loaded.delete(number);
  };
  return { renamed, dispose };
}
