import { decimal } from "../formatting";

const BACKENDS: Readonly<Record<string, string>> = {
  auto: "choosing",
  webgpu: "WebGPU",
  webgl: "WebGL",
  wasm: "WebAssembly",
  exact: "WASM, exact",
  cpu: "JavaScript",
  "tensorflow-cpu": "TensorFlow",
  "tensorflow-cuda": "TensorFlow on a GPU",
};

/** A backend's name as its makers write it. */
export function backendName(word: string): string {
  return BACKENDS[word] ?? word;
}

export const figures = {
  backend: backendName,
  /** A loss inside a sentence; one that rounds to nothing is still no bare zero. */
  loss: (value: number) => (value < 0.001 ? `below ${decimal(0.001)}` : decimal(value)),
};
