/**
 * What a browser, or a headless peer, computes on: TF.js' backends, and `exact`, which is WebAssembly with SIMD by
 * kernels that give the same bits on every engine and processor.
 */

export type Backend = "webgpu" | "webgl" | "wasm" | "exact" | "cpu";
