/** The fast Fourier transform of real numbers whose count is a power of two (Cooley and Tukey 1965). */

/** Returns a function that gives the power |X|^2 of frequencies 0 to size / 2; it reuses its result. */
export function powerSpectrum(size: number): (samples: Float64Array) => Float64Array {
  const half = size / 2;
  const angles = Float64Array.from({ length: half }, (_, k) => (-2 * Math.PI * k) / size);
  const [cosines, sines] = [angles.map(Math.cos), angles.map(Math.sin)];
  const order = reversedBits(size);
  const [real, imaginary] = [new Float64Array(size), new Float64Array(size)];
  const power = new Float64Array(half + 1);
  return (samples) => {
    for (let i = 0; i < size; i++) real[i] = samples[order[i] as number] ?? 0;
    imaginary.fill(0);
    for (let span = 1; span < size; span *= 2) butterflies(real, imaginary, cosines, sines, span);
    for (let k = 0; k <= half; k++) {
      power[k] = (real[k] as number) ** 2 + (imaginary[k] as number) ** 2;
    }
    return power;
  };
}

function reversedBits(size: number): Uint32Array {
  const order = new Uint32Array(size);
  for (let i = 1; i < size; i++) {
    order[i] = ((order[i >> 1] as number) >> 1) | (i & 1 ? size / 2 : 0);
  }
  return order;
}

/** Joins the transforms of `span` numbers to those of twice as many, in place. */
function butterflies(
  real: Float64Array,
  imaginary: Float64Array,
  cosines: Float64Array,
  sines: Float64Array,
  span: number,
): void {
  const step = cosines.length / span;
  for (let start = 0; start < real.length; start += 2 * span) {
    for (let k = 0; k < span; k++) {
      const [a, b] = [start + k, start + k + span];
      const [cos, sin] = [cosines[k * step] as number, sines[k * step] as number];
      const [x, y] = [real[b] as number, imaginary[b] as number];
      const [turnedX, turnedY] = [x * cos - y * sin, x * sin + y * cos];
      const [left, right] = [real[a] as number, imaginary[a] as number];
      real[b] = left - turnedX;
      imaginary[b] = right - turnedY;
      real[a] = left + turnedX;
      imaginary[a] = right + turnedY;
    }
  }
}
