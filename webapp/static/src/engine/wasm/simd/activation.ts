/** Activations that a kernel can apply to its result for nothing. */

/** What results are raised to: 0 for relu, nothing for none; null for an activation that needs more. */
export function floorOf(activation: unknown): number | null {
  if (activation === undefined || activation === null || activation === "linear")
    return Number.NEGATIVE_INFINITY;
  return activation === "relu" ? 0 : null;
}
