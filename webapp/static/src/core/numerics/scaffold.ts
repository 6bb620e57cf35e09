/**
 * Control variates of SCAFFOLD (Karimireddy et al. 2020, alg. 1, option II). The twin is
 * backend/numerics/scaffold.py.
 */

/**
 * Returns the change of a client's control variate by `steps` steps of plain gradient descent: `server` is the
 * server's control variate, and `update` is local minus global weights, of which the first values are the trainable
 * ones.
 */
export function controlChange(
  server: Float32Array,
  update: Float32Array,
  steps: number,
  learningRate: number,
): Float32Array<ArrayBuffer> {
  const scale = Math.fround(steps * learningRate);
  return Float32Array.from(server, (value, i) => -value - Math.fround((update[i] as number) / scale));
}

/** Returns `a + b` or, with `sign` -1, `a - b`, in float32. */
export function combine(a: Float32Array, b: Float32Array, sign: 1 | -1): Float32Array<ArrayBuffer> {
  return Float32Array.from(a, (value, i) => value + sign * (b[i] as number));
}
