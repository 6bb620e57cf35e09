import { milliseconds, number } from "../formatting";
import { shape, size } from "./figures";

const BACKENDS: Readonly<Record<string, string>> = {
  webgpu: "WebGPU",
  webgl: "WebGL",
  wasm: "WebAssembly",
  cpu: "JavaScript",
  "tensorflow-cpu": "TensorFlow",
  "tensorflow-cuda": "TensorFlow on a GPU",
};
const DEVICES: Readonly<Record<string, string>> = {
  phone: "A phone",
  laptop: "A laptop",
  gpu: "A graphics card",
};
const LIST = new Intl.ListFormat("en");
const ELIGIBLE: Readonly<Record<string, string>> = {
  everywhere: "can take part",
  "some devices": "can take part where devices are strong enough",
  nowhere: "cannot take part",
};

/** The step that brings the model. */
export const say = {
  replace: (title: string) => `Take the model of “${title}” instead of the one that is here?`,
  parameters: "Parameters",
  trained: (count: number, all: number) =>
    count === all ? number(all) : `${number(all)}, ${number(count)} of them trained`,
  memory: "Memory of a step",
  update: "One volunteer sends, a round",
  batch: "Examples in a batch",
  size,
  number,
  takes: (inputs: readonly (readonly number[])[], outputs: readonly (readonly number[])[], loss: string) =>
    `An example is ${inputs.map(shape).join(" and ")}; the answer is ${outputs.map(shape).join(" and ")}. It is trained by ${loss}.`,
  loss: (names: readonly string[]) => names.join(" and ").replaceAll("_", " "),
  noLoss: "no loss",
  checked: (worst: number) =>
    `Checked against Keras: predictions, losses, gradients and steps differ by ${worst === 0 ? "nothing" : `${worst.toExponential(0)} at most`}.`,
  backends: (names: readonly string[], eligible: string, reason: string) => {
    const said = LIST.format(names.map((name) => BACKENDS[name] ?? name));
    return `${said} ${ELIGIBLE[eligible] ?? eligible}${reason === "" ? "." : `: ${reason}`}`;
  },
  step: (device: string, backend: string, fast: number, slow: number) =>
    `${DEVICES[device] ?? device} takes ${milliseconds(fast)} to ${milliseconds(slow)} for a batch with ${BACKENDS[backend] ?? backend} (an estimate).`,
};
