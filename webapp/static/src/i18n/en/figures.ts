import { decimal } from "../formatting";

const BACKENDS: Readonly<Record<string, string>> = {
  auto: "choosing",
  webgpu: "WebGPU",
  webgl: "WebGL",
  wasm: "WebAssembly",
  cpu: "JavaScript",
  "tensorflow-cpu": "TensorFlow",
  "tensorflow-cuda": "TensorFlow on a GPU",
};

export const figures = {
  /** A backend's name as its makers write it. */
  backend: (word: string) => BACKENDS[word] ?? word,
  /** A loss inside a sentence; one that rounds to nothing is still no bare zero. */
  loss: (value: number) => (value < 0.001 ? `below ${decimal(0.001)}` : decimal(value)),
};
