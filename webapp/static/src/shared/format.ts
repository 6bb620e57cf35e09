/** Figures as people read them; the same as `backend/web/words.py` writes on the server. */

const THIN = "\u202f";

/** A whole number with its thousands apart. */
export function number(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, THIN);
}

/** A share between 0 and 1 as `93.1 %`. */
export function percent(share: number | null): string {
  return share === null ? "–" : `${(share * 100).toFixed(1)}${THIN}%`;
}

/** A loss with up to four digits. */
export function decimal(value: number): string {
  return Number(value.toPrecision(4)).toString();
}

/** `0.4 ms`, `12 ms`, `1.3 s`. */
export function milliseconds(value: number): string {
  if (value >= 1000) return `${(value / 1000).toFixed(1)} s`;
  return `${value >= 10 ? Math.round(value) : value.toFixed(1)} ms`;
}

/** Whole seconds, rounded up, never below zero. */
export function seconds(value: number): string {
  return `${Math.max(0, Math.ceil(value))} s`;
}

/** `1 participant`, `3 participants`. */
export function counted(value: number, singular: string, plural = `${singular}s`): string {
  return `${number(value)} ${value === 1 ? singular : plural}`;
}

const BACKENDS: Readonly<Record<string, string>> = {
  auto: "choosing",
  webgpu: "WebGPU",
  webgl: "WebGL",
  wasm: "WebAssembly",
  cpu: "JavaScript",
  "tensorflow-cpu": "TensorFlow",
  "tensorflow-cuda": "TensorFlow on a GPU",
};

/** A backend's name as its makers write it. */
export function backendName(word: string): string {
  return BACKENDS[word] ?? word;
}
