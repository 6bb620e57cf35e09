import { counted, number } from "../formatting";

const DEVICES: Readonly<Record<string, string>> = {
  phone: "A phone",
  laptop: "A laptop",
  gpu: "A computer with a graphics card",
};
const BACKENDS: Readonly<Record<string, string>> = {
  webgpu: "WebGPU",
  webgl: "WebGL",
  wasm: "WebAssembly",
  cpu: "JavaScript",
  "tensorflow-cpu": "TensorFlow",
  "tensorflow-cuda": "TensorFlow with CUDA",
};
const UNITS = ["bytes", "kB", "MB", "GB", "TB"] as const;

/** `850 bytes`, `4.2 kB`, `130 MB`. */
function bytes(value: number): string {
  let at = 0;
  let left = value;
  while (left >= 1000 && at < UNITS.length - 1) {
    left /= 1000;
    at += 1;
  }
  return `${left >= 10 || at === 0 ? Math.round(left) : left.toFixed(1)} ${UNITS[at]}`;
}

/** `0.4 s`, `12 s`, `3 min`, `2.5 h`. */
function time(seconds: number): string {
  if (seconds < 100) return `${short(seconds)} s`;
  return seconds < 5400 ? `${short(seconds / 60)} min` : `${short(seconds / 3600)} h`;
}

function energy(wattHours: number): string {
  if (wattHours < 1) return `${short(wattHours * 1000)} mWh`;
  return wattHours < 1000 ? `${short(wattHours)} Wh` : `${short(wattHours / 1000)} kWh`;
}

/** Two digits: no estimate knows more. */
function short(value: number): string {
  return `${Number(value.toPrecision(2))}`;
}

function range(low: number, high: number, said: (value: number) => string): string {
  return said(low) === said(high) ? said(low) : `${said(low)} to ${said(high)}`;
}

/** The wizard's step `plan`. */
export const say = {
  taken:
    "These values were worked out from your model and your data, each for the reason that stands with it. Change what you like.",
  proposed: (count: number) =>
    `${counted(count, "value differs", "values differ")} from what would fit your model and data. Take them, or keep your own.`,
  fits: "All values are those that fit your model and data. Change what you like.",
  take: (value: number | null) => (value === null ? "Leave it out" : `Take ${value}`),
  takeFor: (value: number | null, label: string) =>
    value === null ? `Leave it out: ${label}` : `Take ${value} for: ${label}`,
  bundle: (batch: number) => `The model was converted for batches of ${number(batch)}.`,
  optimizer: (name: string, rate: number) => `The converted model has ${name} with ${rate}.`,
  convert: "The model has to be converted again.",
  converted: "The model is converted.",
  costs: {
    examples: "A participant trains in a round on",
    visits: "In all rounds each example is seen",
    once: "A volunteer fetches once (program, model, examples)",
    each: "In each round, down and up",
    volunteer: "A volunteer in all",
    server: "The server sends in each round",
    receives: "The server receives in each round",
    total: "The server in all",
    energy: "Energy of a volunteer’s device in all",
    all: "Energy of all volunteers",
  },
  unitCosts: {
    examples: "A device trains in a work unit on",
    units: "Work units in an epoch",
    visits: "In all epochs each example is seen",
    once: "A volunteer fetches once (program, model, examples)",
    each: "For each unit, down and up",
    volunteer: "A volunteer in all",
    server: "The server sends in each epoch",
    receives: "The server receives in each epoch",
    total: "The server in all",
    energy: "Energy of a volunteer’s device in all",
    all: "Energy of all volunteers",
  },
  units: (count: number, leases: number) =>
    `${number(count)}, each done ${leases === 1 ? "once" : `${short(leases)} times in the mean`}`,
  bytes,
  round: (down: number, up: number) => `${bytes(down)}, ${bytes(up)}`,
  examples: (examples: number, steps: number) => `${counted(examples, "example")}, ${counted(steps, "step")}`,
  energy: ([low, high]: readonly [number, number]) => range(low, high, energy),
  visits: (times: number) => `${number(times)} times`,
  device: (name: string, backend: string) => `${DEVICES[name] ?? name} (${BACKENDS[backend] ?? backend})`,
  seconds: ([low, high]: readonly [number, number]) => range(low, high, time),
  time,
  inTime: { all: "yes", some: "only fast ones", none: "no" },
  getsUnits: { all: "whole units", some: "slow ones parts", none: "parts of units" },
  guessed: (examples: number) =>
    `Worked out for ${counted(examples, "example")}; once the data are cut, they are counted.`,
};
