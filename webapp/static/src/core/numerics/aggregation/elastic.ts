/**
 * The weights that a client of EASGD continues from (Zhang, Choromanska, LeCun 2015). The twin is `elastic` of
 * backend/numerics/aggregation/asynchronous.py.
 */

/** Returns `own - alpha (own - given)`, float32 [P], computed in float64; `given` are the server's weights. */
export function elastic(own: Float32Array, given: Float32Array, alpha: number): Float32Array<ArrayBuffer> {
  return Float32Array.from(own, (value, i) => value - alpha * (value - (given[i] as number)));
}
