/** Protects a client's update before it is sent (local differential privacy). */

import type { Protection } from "../../core/messages/training";
import { gaussianNoise } from "./noise";

/** Clips the update, then adds noise to each of its values, in place. */
export function protect(update: Float32Array, { clip, noise }: Protection): void {
  let squares = 0;
  for (const value of update) squares += value * value;
  const norm = Math.sqrt(squares);
  const factor = norm <= clip ? 1 : clip / norm;
  const added = gaussianNoise(update.length, noise * clip);
  for (let i = 0; i < update.length; i++) update[i] = factor * (update[i] ?? 0) + (added[i] ?? 0);
}
