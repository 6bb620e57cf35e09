/** WebGPU programs that know all their sizes. */

import type { WebGPUProgram } from "@tensorflow/tfjs-backend-webgpu";

const WORKGROUP = 64;

/**
 * A program over `threads` threads, and the uniforms to run it with; `body` has `index`, the thread's number, and the
 * buffers by their names. `name` tells programs apart.
 */
export function plainProgram(
  name: string,
  threads: number,
  outputShape: readonly number[],
  inputs: Readonly<Record<string, 1 | 4>>,
  components: 1 | 4,
  body: string,
  functions = "",
): { readonly program: WebGPUProgram; readonly uniforms: { type: string; data: number[] }[] } {
  const program: WebGPUProgram = {
    variableNames: Object.keys(inputs),
    variableComponents: Object.values(inputs),
    outputComponent: components,
    outputShape: [...outputShape],
    dispatchLayout: { x: outputShape.map((_, axis) => axis) },
    dispatch: [Math.ceil(threads / WORKGROUP), 1, 1],
    workgroupSize: [WORKGROUP, 1, 1],
    // A binding that the code does not use would be missing from the pipeline's layout: the size comes as a uniform.
    uniforms: "threads : i32,",
    shaderKey: name,
    getUserCode: () => `${functions}
      fn main(index : i32) { if (index < uniforms.threads) { ${body} } }`,
  };
  return { program, uniforms: [{ type: "int32", data: [threads] }] };
}
