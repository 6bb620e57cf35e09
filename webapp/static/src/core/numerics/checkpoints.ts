/**
 * The steps of a work unit after which its weights are hashed, so that two results that differ tell between which steps
 * their trainings parted. backend/protocols/replay/checkpoints.py is the same.
 */

/** The most checkpoints of a unit. */
export const MOST_CHECKPOINTS = 16;

/** Returns the numbers of the steps, spread evenly, the last one among them; all steps of a short unit. */
export function checkpointSteps(steps: number): number[] {
  const count = Math.min(steps, MOST_CHECKPOINTS);
  return Array.from({ length: count }, (_, i) => Math.ceil(((i + 1) * steps) / count));
}
