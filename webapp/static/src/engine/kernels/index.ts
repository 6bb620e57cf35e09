/**
 * Kernels of the WASM backend, compiled with AssemblyScript to WebAssembly with SIMD. They work in TF.js' memory and
 * have none of their own: addresses, also of scratch memory, are arguments. Each call computes a part [begin, end) of
 * the work.
 */

export { choose } from "./choice";
export { convolve, filterGradient, fold } from "./convolution";
export { depthwiseFilterGradient, depthwiseInputGradient } from "./depthwise";
export { evaluate } from "./fused";
export { combine, map } from "./map";
export { maxPoolGradient } from "./pooling";
export { multiplyBatch } from "./product";
export { rearrange } from "./rearrange";
export { sumMiddle } from "./reduction";
