/** The filter's gradient on WebGL; see ../gpu/filter-gradient.ts. Texels hold two columns by two channels. */

import type { GPGPUProgram, MathBackendWebGL } from "@tensorflow/tfjs-backend-webgl";
import type { TensorInfo } from "@tensorflow/tfjs-core";
import { ENOUGH_THREADS, type FilterGradient } from "../gpu/filter-gradient";

/** Sums over the images `share`, `share + shares`, ...; a texel of the result is two input by two output channels. */
class PartialGradients implements GPGPUProgram {
  readonly variableNames = ["x", "dy"];
  readonly packedInputs = true;
  readonly packedOutput = true;
  readonly outputShape: number[];
  readonly userCode: string;

  constructor({ info }: FilterGradient, shares: number) {
    const { batchSize, inHeight, inWidth, inChannels, outHeight, outWidth, outChannels } = info;
    const { filterHeight, filterWidth, strideHeight, strideWidth, padInfo } = info;
    this.outputShape = [shares * filterHeight, filterWidth, inChannels, outChannels];
    this.userCode = `
      vec2 pixel(int image, int row, int column, int channel) {
        if (column < 0 || column >= ${inWidth}) return vec2(0.0);
        vec4 texel = getX(image, row, column, channel);
        return column % 2 == 0 ? texel.xy : texel.zw;
      }
      void main() {
        ivec4 at = getOutputCoords();
        int share = at.x / ${filterHeight};
        int row = at.x - share * ${filterHeight};
        vec4 sum = vec4(0.0);
        for (int image = share; image < ${batchSize}; image += ${shares}) {
          for (int line = 0; line < ${outHeight}; line++) {
            int xRow = line * ${strideHeight} + row - ${padInfo.top};
            if (xRow < 0 || xRow >= ${inHeight}) continue;
            for (int place = 0; place < ${outWidth}; place += 2) {
              vec4 slope = getDy(image, line, place, at.w);
              int column = place * ${strideWidth} + at.y - ${padInfo.left};
              sum += pixel(image, xRow, column, at.z).xxyy * slope.xyxy;
              ${outWidth % 2 === 1 ? `if (place + 1 < ${outWidth})` : ""}
              sum += pixel(image, xRow, column + ${strideWidth}, at.z).xxyy * slope.zwzw;
            }
          }
        }
        ${inChannels % 2 === 1 ? `if (at.z + 1 >= ${inChannels}) sum.zw = vec2(0.0);` : ""}
        ${outChannels % 2 === 1 ? `if (at.w + 1 >= ${outChannels}) sum.yw = vec2(0.0);` : ""}
        setOutput(sum);
      }`;
  }
}

/** Adds the shares. */
class Total implements GPGPUProgram {
  readonly variableNames = ["parts"];
  readonly packedInputs = true;
  readonly packedOutput = true;
  readonly outputShape: number[];
  readonly userCode: string;

  constructor({ info }: FilterGradient, shares: number) {
    this.outputShape = [...info.filterShape];
    this.userCode = `
      void main() {
        ivec4 at = getOutputCoords();
        vec4 sum = vec4(0.0);
        for (int share = 0; share < ${shares}; share++) {
          sum += getParts(share * ${info.filterHeight} + at.x, at.y, at.z, at.w);
        }
        setOutput(sum);
      }`;
  }
}

/** dw [h, w, C, K]. The caller owns the result. */
export function filterGradientOnWebGl(backend: MathBackendWebGL, call: FilterGradient): TensorInfo {
  const { batchSize, filterHeight, filterWidth, inChannels, outChannels } = call.info;
  const threads = filterHeight * filterWidth * Math.ceil(inChannels / 2) * Math.ceil(outChannels / 2);
  const shares = Math.max(1, Math.min(Math.ceil(ENOUGH_THREADS / threads), batchSize));
  const inputs = [call.x, call.dy];
  const parts = backend.runWebGLProgram(new PartialGradients(call, shares), inputs, "float32");
  if (shares === 1) return parts;
  const result = backend.runWebGLProgram(new Total(call, shares), [parts], "float32");
  backend.disposeIntermediateTensorInfo(parts);
  return result;
}
