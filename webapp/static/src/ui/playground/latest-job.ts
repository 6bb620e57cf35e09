/** Work of which only the newest result matters, and that can be wanted faster than it is done. */

/**
 * The function returned says that `work` is wanted. One is done at a time; however often it is wanted meanwhile, it is
 * done once more, so nothing waits in line. Its promise resolves when nothing is wanted any more; `work` must not reject.
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
