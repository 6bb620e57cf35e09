/** Fused elementwise programs on the WebGL backend of TF.js. */

import type { GPGPUProgram, MathBackendWebGL } from "@tensorflow/tfjs-backend-webgl";
import type { TensorInfo } from "@tensorflow/tfjs-core";
import { type DeviceCode, deviceCode, type Program } from "../fusion/program";
import { vocabularyFor } from "../fusion/shader-functions";
import { fitRank } from "../gpu/shapes";

const PLAIN = `
#define V float
V gt(V a, V b) { return V(a > b); }
V ge(V a, V b) { return V(a >= b); }
V lt(V a, V b) { return V(a < b); }
V le(V a, V b) { return V(a <= b); }
V eq(V a, V b) { return V(a == b); }
V ne(V a, V b) { return V(a != b); }
V nan(V a) { return V(isnan(a)); }
V pick(V c, V a, V b) { return c != 0.0 ? a : b; }
V notANumber() { return NAN; }`;

const PACKED = `
#define V vec4
V gt(V a, V b) { return V(greaterThan(a, b)); }
V ge(V a, V b) { return V(greaterThanEqual(a, b)); }
V lt(V a, V b) { return V(lessThan(a, b)); }
V le(V a, V b) { return V(lessThanEqual(a, b)); }
V eq(V a, V b) { return V(equal(a, b)); }
V ne(V a, V b) { return V(notEqual(a, b)); }
V nan(V a) { return V(isnan(a)); }
V pick(V c, V a, V b) { return mix(b, a, notEqual(c, V(0.0))); }
V notANumber() { return V(NAN); }`;

/** A packed texel holds two by two elements; those beyond the tensor's border must stay zero. */
function clearBeyondBorder(shape: readonly number[]): string {
  const [rows = 1, columns = 1] = shape.slice(-2);
  const last = shape.length;
  if (last === 0) return "result.yzw = vec3(0.0);";
  if (last === 1) {
    const length = shape[0] as number;
    return `result.zw = vec2(0.0);
      ${length % 2 === 1 ? `if (getOutputCoords() + 1 >= ${length}) result.y = 0.0;` : ""}`;
  }
  const axes = "xyzw";
  return `
    ${columns % 2 === 1 ? `if (getOutputCoords().${axes[last - 1]} + 1 >= ${columns}) result.yw = vec2(0.0);` : ""}
    ${rows % 2 === 1 ? `if (getOutputCoords().${axes[last - 2]} + 1 >= ${rows}) result.zw = vec2(0.0);` : ""}`;
}

/** One shader; TF.js compiles it once for each combination of its inputs' texture shapes. */
class ElementwiseProgram implements GPGPUProgram {
  readonly variableNames: string[];
  readonly outputShape: number[];
  readonly packedInputs: boolean;
  readonly packedOutput: boolean;
  readonly customUniforms: { name: string; type: "float" }[];
  readonly userCode: string;

  constructor({ inputs, shape }: Program, { uniforms, lines, result }: DeviceCode, packed: boolean) {
    this.variableNames = Array.from({ length: inputs }, (_, i) => `t${i}`);
    this.outputShape = [...shape];
    this.packedInputs = packed;
    this.packedOutput = packed;
    this.customUniforms = uniforms.map((_, i) => ({ name: `v${i}`, type: "float" }));
    const words = vocabularyFor(
      lines,
      (name, parameters, body) =>
        `V ${name}(${parameters.map((parameter) => `V ${parameter}`).join(", ")}) { return ${body}; }`,
    );
    this.userCode = `${packed ? PACKED : PLAIN}
      ${words}
      void main() {
        ${this.variableNames.map((_, i) => `V x${i} = getT${i}AtOutCoords();`).join("\n")}
        ${uniforms.map((_, i) => `V u${i} = V(v${i});`).join("\n")}
        ${lines.join("\n")}
        V result = ${result};
        ${packed ? clearBeyondBorder(shape) : ""}
        setOutput(result);
      }`;
  }
}

/** Runs `program` on tensors of this backend; `uniforms` in the order of its device code. */
export class WebGlElementwise {
  readonly #packed: ElementwiseProgram;
  readonly #plain: ElementwiseProgram;

  constructor(private readonly program: Program) {
    const code = deviceCode(program, "V");
    this.#packed = new ElementwiseProgram(program, code, true);
    this.#plain = new ElementwiseProgram(program, code, false);
  }

  run(backend: MathBackendWebGL, tensors: readonly TensorInfo[], uniforms: readonly number[]): TensorInfo {
    const { shape, dtype } = this.program;
    const inputs = tensors.map((tensor) => fitRank(tensor, shape.length));
    const packed = inputs.some(({ dataId }) => backend.texData.get(dataId).isPacked === true);
    return backend.runWebGLProgram(
      packed ? this.#packed : this.#plain,
      inputs,
      dtype,
      uniforms.map((value) => [value]),
    );
  }
}
