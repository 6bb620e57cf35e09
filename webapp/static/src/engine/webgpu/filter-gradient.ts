/** The filter's gradient on WebGPU; see ../gpu/filter-gradient.ts. */

import type { WebGPUBackend } from "@tensorflow/tfjs-backend-webgpu";
import type { TensorInfo } from "@tensorflow/tfjs-core";
import { ENOUGH_THREADS, type FilterGradient } from "../gpu/filter-gradient";
import { plainProgram } from "./program";

/** One thread for each share of the rows of dy, filter row, input channel and (four) output channels. */
function partialGradients(
  { info }: FilterGradient,
  shares: number,
  components: 1 | 4,
): ReturnType<typeof plainProgram> {
  const { batchSize, inHeight, inWidth, inChannels, outHeight, outWidth, outChannels } = info;
  const { filterHeight, filterWidth, strideHeight, strideWidth, padInfo } = info;
  const columns = Array.from({ length: filterWidth }, (_, column) => column);
  const blocks = outChannels / components;
  const threads = shares * filterHeight * inChannels * blocks;
  const type = components === 4 ? "vec4<f32>" : "f32";
  const body = `
    let block = index % ${blocks};
    let channel = (index / ${blocks}) % ${inChannels};
    let row = (index / ${blocks * inChannels}) % ${filterHeight};
    let share = index / ${blocks * inChannels * filterHeight};
    ${columns.map((column) => `var sum${column} = ${type}(0.0);`).join("\n")}
    for (var line = share; line < ${batchSize * outHeight}; line = line + ${shares}) {
      let image = line / ${outHeight};
      let xRow = (line % ${outHeight}) * ${strideHeight} + row - ${padInfo.top};
      if (xRow < 0 || xRow >= ${inHeight}) { continue; }
      let start = (image * ${inHeight} + xRow) * ${inWidth * inChannels} + channel;
      for (var place = 0; place < ${outWidth}; place = place + 1) {
        let slope = dy[(line * ${outWidth} + place) * ${blocks} + block];
        let left = place * ${strideWidth} - ${padInfo.left};
        ${columns
          .map(
            (column) => `if (left + ${column} >= 0 && left + ${column} < ${inWidth}) {
              sum${column} = sum${column} + x[start + (left + ${column}) * ${inChannels}] * slope;
            }`,
          )
          .join("\n")}
      }
    }
    let goal = (share * ${filterHeight} + row) * ${filterWidth};
    ${columns.map((column) => `result[((goal + ${column}) * ${inChannels} + channel) * ${blocks} + block] = sum${column};`).join("\n")}`;
  const sizes = [info.inShape, info.filterShape, strideHeight, strideWidth, padInfo.top, padInfo.left];
  const name = `minga_filter_gradient_${[...sizes, outHeight, outWidth, shares].flat().join("_")}`;
  const shape = [shares * filterHeight, filterWidth, inChannels, outChannels];
  return plainProgram(name, threads, shape, { x: 1, dy: components }, components, body);
}

/** Adds the shares. */
function total({ info }: FilterGradient, shares: number): ReturnType<typeof plainProgram> {
  const size = info.filterShape.reduce((product, length) => product * length, 1);
  const body = `
    var sum = 0.0;
    for (var share = 0; share < ${shares}; share = share + 1) { sum = sum + parts[share * ${size} + index]; }
    result[index] = sum;`;
  return plainProgram(`minga_total_${size}_${shares}`, size, info.filterShape, { parts: 1 }, 1, body);
}

/** dw [h, w, C, K]. The caller owns the result. */
export function filterGradientOnWebGpu(backend: WebGPUBackend, call: FilterGradient): TensorInfo {
  const { batchSize, outHeight, outChannels, inChannels, filterHeight, filterShape } = call.info;
  const components = outChannels % 4 === 0 ? 4 : 1;
  const threads = (filterHeight * inChannels * outChannels) / components;
  const shares = Math.max(1, Math.min(Math.ceil(ENOUGH_THREADS / threads), batchSize * outHeight));
  const partial = partialGradients(call, shares, components);
  const parts = backend.runWebGPUProgram(partial.program, [call.x, call.dy], "float32", partial.uniforms);
  if (shares === 1) return { ...parts, shape: [...filterShape] };
  const sum = total(call, shares);
  const result = backend.runWebGPUProgram(sum.program, [parts], "float32", sum.uniforms);
  backend.disposeData(parts.dataId);
  return result;
}
