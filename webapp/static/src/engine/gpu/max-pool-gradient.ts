/**
 * The gradient of max pooling. The kernels of TF.js 4.22 give dy to the last of equal maxima, TensorFlow to the
 * first: after a rectifier, whose zeros tie, the gradients differ. In this kernel each pixel looks up the windows
 * that contain it.
 */

import type { GPGPUProgram, MathBackendWebGL } from "@tensorflow/tfjs-backend-webgl";
import type { WebGPUBackend } from "@tensorflow/tfjs-backend-webgpu";
import { backend_util, type TensorInfo } from "@tensorflow/tfjs-core";
import { plainProgram } from "../webgpu/program";

export interface PoolGradient {
  readonly x: TensorInfo;
  readonly y: TensorInfo;
  readonly dy: TensorInfo;
  readonly info: backend_util.Conv2DInfo;
}

/** Returns the arguments of a kernel MaxPoolGrad. */
export function poolGradientOf(
  inputs: Readonly<Record<string, TensorInfo>>,
  attrs: Readonly<Record<string, unknown>>,
): PoolGradient {
  const { input: x, output: y, dy } = inputs as { input: TensorInfo; output: TensorInfo; dy: TensorInfo };
  const info = backend_util.computePool2DInfo(
    x.shape as [number, number, number, number],
    attrs.filterSize as [number, number],
    attrs.strides as [number, number],
    1,
    attrs.pad as "same",
    attrs.dimRoundingMode as "floor" | undefined,
  );
  return { x, y, dy, info };
}

interface WindowWords {
  /** Declares a whole number that changes. */
  readonly integer: string;
  readonly float: string;
  readonly flag: string;
}

/**
 * Adds up `sum` for the pixel (image, row, column, channel), in the words of a shading language, which offers
 * `readX`, `readY` and `readDy` at such places.
 */
function body({ info }: PoolGradient, { integer, float, flag }: WindowWords): string {
  const { inHeight, inWidth, outHeight, outWidth, filterHeight, filterWidth, padInfo } = info;
  const { strideHeight, strideWidth } = info;
  const loop = (name: string, first: string, end: string) =>
    `for (${integer} ${name} = ${first}; ${name} < ${end}; ${name} = ${name} + 1)`;
  return `
    ${float} value = readX(image, row, column, channel);
    ${loop("a", "0", String(filterHeight))} {
      ${integer} top = row + ${padInfo.top} - a;
      if (top < 0 || top % ${strideHeight} != 0 || top / ${strideHeight} >= ${outHeight}) { continue; }
      ${loop("b", "0", String(filterWidth))} {
        ${integer} left = column + ${padInfo.left} - b;
        if (left < 0 || left % ${strideWidth} != 0 || left / ${strideWidth} >= ${outWidth}) { continue; }
        if (readY(image, top / ${strideHeight}, left / ${strideWidth}, channel) != value) { continue; }
        ${flag} first = true;
        ${loop("k", "0", `a * ${filterWidth} + b`)} {
          ${integer} other = row - a + k / ${filterWidth};
          ${integer} beside = column - b + k % ${filterWidth};
          if (other < 0 || other >= ${inHeight} || beside < 0 || beside >= ${inWidth}) { continue; }
          if (readX(image, other, beside, channel) == value) { first = false; }
        }
        if (first) { sum = sum + readDy(image, top / ${strideHeight}, left / ${strideWidth}, channel); }
      }
    }`;
}

class WebGlProgram implements GPGPUProgram {
  readonly variableNames = ["x", "y", "dy"];
  readonly outputShape: number[];
  readonly userCode: string;

  constructor(call: PoolGradient) {
    this.outputShape = [...call.info.inShape];
    const read = (name: string) =>
      `float read${name}(int n, int r, int c, int d) { return get${name}(n, r, c, d); }`;
    this.userCode = `
      ${["X", "Y", "Dy"].map(read).join("\n")}
      void main() {
        ivec4 at = getOutputCoords();
        int image = at.x, row = at.y, column = at.z, channel = at.w;
        float sum = 0.0;
        ${body(call, { integer: "int", float: "float", flag: "bool" })}
        setOutput(sum);
      }`;
  }
}

/** dx, shaped as x. The caller owns the result. */
export function poolGradientOnWebGl(backend: MathBackendWebGL, call: PoolGradient): TensorInfo {
  return backend.runWebGLProgram(new WebGlProgram(call), [call.x, call.y, call.dy], "float32");
}

/** dx, shaped as x. The caller owns the result. */
export function poolGradientOnWebGpu(backend: WebGPUBackend, call: PoolGradient): TensorInfo {
  const { inShape, outShape, inHeight, inWidth, inChannels, outHeight, outWidth } = call.info;
  const { filterHeight, filterWidth, strideHeight, strideWidth, padInfo } = call.info;
  const size = inShape.reduce((product, length) => product * length, 1);
  const read = (name: string, buffer: string, height: number, width: number) =>
    `fn read${name}(n : i32, r : i32, c : i32, d : i32) -> f32 {
      return f32(${buffer}[((n * ${height} + r) * ${width} + c) * ${inChannels} + d]);
    }`;
  const functions = [
    read("X", "x", inHeight, inWidth),
    read("Y", "y", outHeight, outWidth),
    read("Dy", "dy", outHeight, outWidth),
  ];
  const code = `
    let channel = index % ${inChannels};
    let column = (index / ${inChannels}) % ${inWidth};
    let row = (index / ${inChannels * inWidth}) % ${inHeight};
    let image = index / ${inChannels * inWidth * inHeight};
    var sum = 0.0;
    ${body(call, { integer: "var", float: "let", flag: "var" })}
    result[index] = sum;`;
  const window = [filterHeight, filterWidth, strideHeight, strideWidth, padInfo.top, padInfo.left];
  const name = `minga_pool_gradient_${[inShape, outShape, window].flat().join("_")}`;
  const inputs = { x: 1, y: 1, dy: 1 } as const;
  const { program, uniforms } = plainProgram(name, size, inShape, inputs, 1, code, functions.join("\n"));
  return backend.runWebGPUProgram(program, [call.x, call.y, call.dy], "float32", uniforms);
}
