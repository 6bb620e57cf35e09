/**
 * Computes how long a client may train so that its update arrives in time. The twin is
 * backend/protocols/client/training_pace.py; tests/contract/vectors/pace.json tests both. No clock is read: times are
 * arguments, in seconds.
 */

/** A conservative rate of a home's uplink (4 Mbit/s), in bytes per second, until an upload was measured. */
const CAREFUL_RATE = 500_000;
/** The largest share of the round that a guessed upload time may take. */
const LARGEST_GUESS = 1 / 3;
/** An upload may take this factor longer than the earlier ones. */
const SLOWER = 1.5;
/** The share of the round that is kept free for what is not measured: network latency, the server's checks. */
const MARGIN = 0.1;
const LONGEST_MARGIN = 3;

/** The measured rate of earlier uploads, in bytes per second; null before the first. */
export type Rate = number | null;

/**
 * Returns the rate after `size` bytes took `seconds` from the first credit to the answer; the latest upload counts
 * half.
 */
export function uploaded(before: Rate, size: number, seconds: number): number {
  const rate = size / Math.max(seconds, 1e-3);
  return before === null ? rate : 0.5 * (before + rate);
}

/** Returns the seconds of `seconds` that remain for training if an update of `size` bytes is to arrive in time. */
export function trainingSeconds(rate: Rate, seconds: number, size: number): number {
  const upload =
    rate === null ? Math.min(size / CAREFUL_RATE, LARGEST_GUESS * seconds) : (SLOWER * size) / rate;
  return Math.max(0, seconds - upload - Math.min(MARGIN * seconds, LONGEST_MARGIN));
}
