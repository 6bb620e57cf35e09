/** Fused elementwise programs on the WebGPU backend of TF.js. */

import type { WebGPUBackend, WebGPUProgram } from "@tensorflow/tfjs-backend-webgpu";
import type { TensorInfo } from "@tensorflow/tfjs-core";
import { deviceCode, type Program } from "../fusion/program";
import { vocabularyFor } from "../fusion/shader-functions";
import { fitRank } from "../gpu/shapes";

const RELATIONS = { gt: ">", ge: ">=", lt: "<", le: "<=", eq: "==", ne: "!=" };

/** The functions of ../fusion/arithmetic.ts for values of one or four floats. */
function prelude(components: 1 | 4): string {
  const relations = Object.entries(RELATIONS).map(
    ([name, sign]) => `fn ${name}(a : V, b : V) -> V { return select(V(0.0), V(1.0), a ${sign} b); }`,
  );
  return `alias V = ${components === 4 ? "vec4<f32>" : "f32"};
${relations.join("\n")}
fn nan(a : V) -> V { return select(V(0.0), V(1.0), ${components === 4 ? "isnanVec4" : "isnan"}(a)); }
fn pick(c : V, a : V, b : V) -> V { return select(b, a, c != V(0.0)); }
fn notANumber() -> V { return V(uniforms.NAN); }`;
}

const WORKGROUP = 64;
const size = (shape: readonly number[]): number => shape.reduce((product, length) => product * length, 1);

/** Shader sources by number: TF.js finds compiled pipelines by a key, which need not be the whole source. */
const sources = new Map<string, number>();

function sourceNumber(source: string): number {
  const index = sources.get(source) ?? sources.size;
  sources.set(source, index);
  return index;
}

/** Runs `program` on tensors of this backend; `uniforms` in the order of its device code. */
export class WebGpuElementwise {
  readonly #code;

  constructor(private readonly program: Program) {
    this.#code = deviceCode(program, "let");
  }

  run(backend: WebGPUBackend, tensors: readonly TensorInfo[], uniforms: readonly number[]): TensorInfo {
    const { shape, dtype } = this.program;
    const inputs = tensors.map((tensor) => fitRank(tensor, shape.length));
    const program = this.#build(inputs.map((input) => input.shape));
    const values = uniforms.map((value) => ({ type: "float32", data: [value] }));
    return backend.runWebGPUProgram(program, inputs, dtype, values);
  }

  #build(inputShapes: readonly (readonly number[])[]): WebGPUProgram {
    const { shape } = this.program;
    const last = shape.at(-1) ?? 1;
    // Four at a time, where each input has rows as long as the result's or one value for a whole row.
    const inFours = last % 4 === 0 && inputShapes.every((input) => [last, 1].includes(input.at(-1) ?? 1));
    const components = inFours ? 4 : 1;
    const source = this.#source(components);
    return {
      variableNames: inputShapes.map((_, i) => `t${i}`),
      variableComponents: inputShapes.map((input) => (inFours && input.at(-1) === last ? 4 : 1)),
      outputComponent: components,
      outputShape: [...shape],
      dispatchLayout: { x: shape.map((_, axis) => axis) },
      dispatch: [Math.ceil(size(shape) / (WORKGROUP * components)), 1, 1],
      workgroupSize: [WORKGROUP, 1, 1],
      size: true,
      uniforms: this.#code.uniforms.map((_, i) => `v${i} : f32,`).join(" "),
      shaderKey: `minga_elementwise_${sourceNumber(source)}_${components}`,
      getUserCode: () => source,
    };
  }

  #source(components: 1 | 4): string {
    const { uniforms, lines, result } = this.#code;
    const words = vocabularyFor(
      lines,
      (name, parameters, body) =>
        `fn ${name}(${parameters.map((parameter) => `${parameter} : V`).join(", ")}) -> V { return ${body}; }`,
    );
    const reads = Array.from(
      { length: this.program.inputs },
      (_, i) => `let x${i} = V(getT${i}ByOutputCoords(coords));`,
    );
    return `${prelude(components)}
      ${words}
      fn main(index : i32) {
        if (index < uniforms.size) {
          let coords = getCoordsFromIndex(index${components === 4 ? " * 4" : ""});
          ${reads.join("\n")}
          ${uniforms.map((_, i) => `let u${i} = V(uniforms.v${i});`).join("\n")}
          ${lines.join("\n")}
          setOutputAtIndex(index, ${result});
        }
      }`;
  }
}
