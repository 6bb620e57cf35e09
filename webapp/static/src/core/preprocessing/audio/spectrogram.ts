/** Turns a recording into a log spectrogram, as docs/reference/preprocessing.md specifies: within 1e-5 of Python's. */

import type { AudioRule } from "../declaration";
import { powerSpectrum } from "./fourier";
import { type AudioRecording, clip } from "./recording";

/** Powers below are raised to it. */
const FLOOR = 1e-6;
/** Spectrograms that vary less are not scaled up. */
const LEAST_DEVIATION = 0.01;

/** A triangle over frequencies, from number `first` on. */
interface MelFilter {
  readonly first: number;
  readonly weights: Float64Array;
}

export function clipLength({ rate, seconds }: AudioRule): number {
  return Math.floor(seconds * rate + 0.5);
}

/** Returns how many windows a clip has. */
export function frameCount(rule: AudioRule): number {
  return Math.floor((clipLength(rule) - rule.window) / rule.hop) + 1;
}

/** Returns the spectrogram of the recording's middle: `bins` values of each window. */
export function audioValues(recording: AudioRecording, rule: AudioRule): Float32Array {
  const samples = clip(recording, rule.rate, clipLength(rule));
  const [frames, size] = [frameCount(rule), fftSize(rule.window)];
  const hann = Float64Array.from(
    { length: rule.window },
    (_, n) => 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / rule.window),
  );
  const spectrum = powerSpectrum(size);
  const filters = rule.spectrum === "mel" ? melFilters(rule, size) : null;
  const values = new Float64Array(frames * rule.bins);
  for (let frame = 0; frame < frames; frame++) {
    const power = spectrum(hann.map((weight, n) => weight * (samples[frame * rule.hop + n] as number)));
    for (let bin = 0; bin < rule.bins; bin++) {
      const sum = filters === null ? (power[bin] as number) : filtered(power, filters[bin] as MelFilter);
      values[frame * rule.bins + bin] = Math.log(Math.max(sum, FLOOR));
    }
  }
  return Float32Array.from(rule.normalize === "recording" ? normalized(values) : values);
}

function fftSize(window: number): number {
  let size = 1;
  while (size < window) size *= 2;
  return size;
}

function filtered(power: Float64Array, { first, weights }: MelFilter): number {
  let sum = 0;
  for (let k = 0; k < weights.length; k++) sum += (weights[k] as number) * (power[first + k] as number);
  return sum;
}

function normalized(values: Float64Array): Float64Array {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  const deviation = Math.max(Math.sqrt(variance), LEAST_DEVIATION);
  return values.map((value) => (value - mean) / deviation);
}

/** HTK's mel scale (O'Shaughnessy 1987). */
function mel(frequency: number): number {
  return 2595 * Math.log10(1 + frequency / 700);
}

function hertz(mels: number): number {
  return 700 * (10 ** (mels / 2595) - 1);
}

/** Returns triangles with peaks of 1 between neighbouring points that are equally far on the mel scale. */
function melFilters({ rate, bins, low, high }: AudioRule, size: number): MelFilter[] {
  const [lowest, highest] = [mel(low), mel(high)];
  const points = Array.from({ length: bins + 2 }, (_, i) =>
    hertz(lowest + ((highest - lowest) * i) / (bins + 1)),
  );
  return Array.from({ length: bins }, (_, bin) => {
    const [left, peak, right] = points.slice(bin, bin + 3) as [number, number, number];
    const weights = Float64Array.from({ length: size / 2 + 1 }, (_, k) => {
      const frequency = (k * rate) / size;
      return Math.max(0, Math.min((frequency - left) / (peak - left), (right - frequency) / (right - peak)));
    });
    const first = Math.max(
      0,
      weights.findIndex((weight) => weight > 0),
    );
    const count = weights.reduce((sum, weight) => sum + (weight > 0 ? 1 : 0), 0);
    return { first, weights: weights.slice(first, first + count) };
  });
}
