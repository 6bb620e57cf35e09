/**
 * What a browser, or a headless peer, computes on: TF.js' backends, and `exact`, which is WebAssembly with SIMD by
 * kernels that give the same bits on every engine and processor.
 */

/** The names that pages show. */
export const BACKEND_NAMES: Readonly<Record<Exclude<Backend, "exact">, string>> = {
  webgpu: "WebGPU",
  webgl: "WebGL",
  wasm: "WebAssembly",
  cpu: "JavaScript",
};

export type Backend = "webgpu" | "webgl" | "wasm" | "exact" | "cpu";
