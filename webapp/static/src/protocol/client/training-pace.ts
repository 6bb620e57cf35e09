/**
 * How long a client may train so that its update arrives in time. `backend/protocols/client/training_pace.py` is the twin;
 * tests/contract/vectors/pace.json binds both. No clock is read here: times are arguments, in seconds.
 */

/** What a home's uplink carries at least (4 Mbit/s), until an upload was measured, in bytes a second. */
const CAREFUL_RATE = 500_000;
/** A guess must not take more of the round than this. */
const LARGEST_GUESS = 1 / 3;
/** An upload may take so much longer than the ones before it. */
const SLOWER = 1.5;
/** Kept free for what nobody measures: the way there, the server's checks. */
const MARGIN = 0.1;
const LONGEST_MARGIN = 3;

/** The measured rate of earlier uploads in bytes a second; null before the first. */
export type Rate = number | null;

/** After `size` bytes took `seconds` from the first credit to the answer; the latest counts half. */
export function uploaded(before: Rate, size: number, seconds: number): number {
  const rate = size / Math.max(seconds, 1e-3);
  return before === null ? rate : 0.5 * (before + rate);
}

/** What is left of `seconds` for training if an update of `size` bytes is to arrive in them. */
export function trainingSeconds(rate: Rate, seconds: number, size: number): number {
  const upload =
    rate === null ? Math.min(size / CAREFUL_RATE, LARGEST_GUESS * seconds) : (SLOWER * size) / rate;
  return Math.max(0, seconds - upload - Math.min(MARGIN * seconds, LONGEST_MARGIN));
}
