/** The backends of TF.js that a browser computes on. */

export type Backend = "webgpu" | "webgl" | "wasm" | "cpu";
