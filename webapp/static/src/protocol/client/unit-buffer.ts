/**
 * The unit buffer: computes how many units a client takes to work for a time without a connection. The twin is
 * backend/protocols/client/unit_buffer.py; tests/contract/vectors/unit_buffer.json tests both.
 */

import { MOST_SLOTS } from "../wire/units";

/** A unit in hand needs memory for the weights that it starts from and for its result. */
const VECTORS_PER_UNIT = 2;

/**
 * Returns the number of units to hold, to have work for `offline` seconds. `atOnce` units are trained at a time, each
 * in `unitSeconds` (0: not measured yet), for results of `resultBytes`. Buffered units need at most `memoryBytes`. One
 * unit more than those in training is held in any case: it is fetched meanwhile.
 */
export function bufferedSlots(
  offline: number,
  atOnce: number,
  unitSeconds: number,
  resultBytes: number,
  memoryBytes: number,
): number {
  const usual = atOnce + 1;
  if (offline <= 0 || unitSeconds <= 0) return Math.min(usual, MOST_SLOTS);
  const needed = atOnce + Math.ceil((offline * atOnce) / unitSeconds);
  const fitting = Math.floor(memoryBytes / Math.max(1, VECTORS_PER_UNIT * resultBytes));
  return Math.min(Math.max(usual, Math.min(needed, fitting)), MOST_SLOTS);
}
