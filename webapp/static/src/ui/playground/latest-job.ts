/** Runs work of which only the newest result matters, and that may be requested faster than it is done. */

/**
 * Returns a function that requests `work`. One run is in progress at a time; all requests meanwhile cause one more
 * run, so that no queue forms. Its promise resolves when no request is left; `work` must not reject.
 */
export function latestOnly(work: () => Promise<void>): () => Promise<void> {
  let pending = false;
  let running: Promise<void> | null = null;
  const run = async (): Promise<void> => {
    while (pending) {
      pending = false;
      await work();
    }
    running = null;
  };
  return () => {
    pending = true;
    running ??= run();
    return running;
  };
}
