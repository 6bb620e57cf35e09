/** Polls results that the server computes only now and then. */

/**
 * Returns a function to call with each change: it looks soon, and once more, but at most once in `every`
 * milliseconds. `look` resolves to the milliseconds until the server has a newer answer. The first answer may be
 * older than the change, so the second look waits for a newer one.
 */
export function pollAfterChange(look: () => Promise<number>, every: number): () => void {
  let looking = false;
  let left = 0;
  let next = 0;

  async function lookSoon(): Promise<void> {
    looking = true;
    while (left > 0) {
      await until(next);
      left -= 1;
      next = performance.now() + every;
      const newer = await look();
      next = Math.max(next, performance.now() + newer);
    }
    looking = false;
  }

  return () => {
    left = 2;
    if (!looking) void lookSoon();
  };
}

function until(instant: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, instant - performance.now())));
}
