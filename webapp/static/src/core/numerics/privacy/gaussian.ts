/** Gaussian noise from uniform words. The twin is backend/numerics/privacy/gaussian.py. */

/** Returns how many words `gaussian` takes for at least this number of values: they come in pairs of four words. */
export function wordsOf(values: number): number {
  return 4 * Math.ceil(values / 2);
}

/** Returns a number in (0, 1) with 52 bits, as Python does. */
function openUnit(high: number, low: number): number {
  return (high * 2 ** 20 + (low >>> 12) + 0.5) * 2 ** -52;
}

/** Returns standard normal values, one for two uniform words (Box and Muller 1958). */
export function gaussian(words: Uint32Array): Float64Array<ArrayBuffer> {
  if (words.length % 4 !== 0) throw new Error("Gaussian noise takes words four at a time.");
  const values = new Float64Array(words.length / 2);
  for (let i = 0; i < words.length; i += 4) {
    const [a = 0, b = 0, c = 0, d = 0] = [words[i], words[i + 1], words[i + 2], words[i + 3]];
    const radius = Math.sqrt(-2 * Math.log(openUnit(a, b)));
    const angle = 2 * Math.PI * openUnit(c, d);
    values[i / 2] = radius * Math.cos(angle);
    values[i / 2 + 1] = radius * Math.sin(angle);
  }
  return values;
}
