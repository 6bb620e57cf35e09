/** Activations that a kernel can apply to its result without extra cost. */

/**
 * Returns the lower bound of results: 0 for relu, none without activation; null for an activation that needs more.
 */
export function floorOf(activation: unknown): number | null {
  if (activation === undefined || activation === null || activation === "linear")
    return Number.NEGATIVE_INFINITY;
  return activation === "relu" ? 0 : null;
}
