/** A recording, and a clip of fixed length from its middle, resampled (backend/numerics/preprocess/audio_clip.py). */

/** Gives mono samples, -1 to 1, of frames within `frames`. */
export interface AudioRecording {
  readonly rate: number;
  readonly frames: number;
  read(start: number, stop: number): Float64Array;
}

/** Zero crossings of the sinc on each side, and the part of the band that passes. */
const ZEROS = 16;
const ROLL_OFF = 0.95;
/** Phases whose weights are kept; odd pairs of rates have more. */
const MOST_PHASES = 1024;

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

/** Returns `length` samples at `rate`: the middle of the recording, or all of it in the middle of zeros. */
export function clip(recording: AudioRecording, rate: number, length: number): Float64Array {
  const divisor = gcd(rate, recording.rate);
  const [up, down] = [rate / divisor, recording.rate / divisor];
  const total = Math.ceil((recording.frames * up) / down);
  const count = Math.min(total, length);
  const start = Math.floor((total - count) / 2);
  const target = new Float64Array(length);
  const middle = target.subarray(Math.floor((length - count) / 2));
  if (up === down) middle.set(recording.read(start, start + count));
  else middle.set(new Resampler(up, down).resampled(recording, start, count));
  return target;
}

/** Weighs the source's samples around each output sample with a sinc under a Hann window (Smith and Gossett 1984). */
class Resampler {
  readonly #cutoff: number;
  readonly #reach: number;
  readonly #kept = new Map<number, Float64Array>();

  constructor(
    private readonly up: number,
    private readonly down: number,
  ) {
    this.#cutoff = ROLL_OFF * Math.min(1, up / down);
    this.#reach = Math.ceil(ZEROS / this.#cutoff);
  }

  /** Returns `count` output samples from number `start` on. */
  resampled(recording: AudioRecording, start: number, count: number): Float64Array {
    const centre = (number: number) => Math.floor((number * this.down) / this.up);
    const first = Math.max(0, centre(start) - this.#reach + 1);
    const stop = Math.min(recording.frames, centre(start + count - 1) + this.#reach + 1);
    const source = recording.read(first, stop);
    const target = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      const phase = ((start + i) * this.down) % this.up;
      target[i] = dot(
        this.#weights(phase),
        source,
        ((start + i) * this.down - phase) / this.up - this.#reach + 1 - first,
      );
    }
    return target;
  }

  #weights(phase: number): Float64Array {
    const kept = this.#kept.get(phase);
    if (kept !== undefined) return kept;
    const weights = Float64Array.from({ length: 2 * this.#reach }, (_, i) =>
      weight(this.#cutoff * (i - this.#reach + 1 - phase / this.up)),
    );
    const sum = weights.reduce((total, one) => total + one, 0);
    const scaled = weights.map((one) => one / sum);
    if (this.up <= MOST_PHASES) this.#kept.set(phase, scaled);
    return scaled;
  }
}

function weight(distance: number): number {
  if (distance === 0) return 1;
  if (Math.abs(distance) >= ZEROS) return 0;
  const angle = Math.PI * distance;
  return (Math.sin(angle) / angle) * (0.5 + 0.5 * Math.cos(angle / ZEROS));
}

/** Returns the sum of `weights` times the samples from `from` on; those outside are 0. */
function dot(weights: Float64Array, source: Float64Array, from: number): number {
  let sum = 0;
  for (let j = Math.max(0, -from); j < weights.length && from + j < source.length; j++) {
    sum += (weights[j] as number) * (source[from + j] as number);
  }
  return sum;
}
