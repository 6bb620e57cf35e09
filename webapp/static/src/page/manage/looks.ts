/** When a page looks at what the server makes anew only now and then. */

/**
 * Looks soon after a change and once more, but at most once in `every` milliseconds. What it returns is called
 * with each change: the server's first answer may be older than the change, the second one is not.
 */
export function lookTwice(look: () => void, every: number): () => void {
  let waiting = false;
  let left = 0;
  let last = Number.NEGATIVE_INFINITY;

  function lookSoon(): void {
    if (waiting || left === 0) return;
    waiting = true;
    setTimeout(
      () => {
        waiting = false;
        left -= 1;
        last = performance.now();
        look();
        lookSoon();
      },
      Math.max(0, last + every - performance.now()),
    );
  }

  return () => {
    left = 2;
    lookSoon();
  };
}
