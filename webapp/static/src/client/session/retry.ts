/** Work that is asked for again after it failed, for example while the server restarts. */

/** Seconds before each new attempt, the last for those that follow. */
const RETRIES = [1, 3, 9];

export interface RetryOptions<A> {
  /** Whether anybody still wants the answer. */
  readonly isNeeded: () => boolean;
  readonly ask: () => Promise<A>;
  /** It failed for this reason and is tried again; null when it worked after all. */
  readonly troubled: (problem: string | null) => void;
  /** Whether it is asked for however often it failed; by default three times more. */
  readonly tireless?: () => boolean;
  /** It failed for the last time. */
  readonly gaveUp: (problem: string) => void;
}

/** The answer, or null when nobody wants it any more or nothing helped. */
export async function retry<A>({
  isNeeded,
  ask,
  troubled,
  tireless = () => false,
  gaveUp,
}: RetryOptions<A>): Promise<A | null> {
  for (let failures = 0; isNeeded(); failures += 1) {
    try {
      const answer = await ask();
      if (!isNeeded()) return null;
      troubled(null);
      return answer;
    } catch (error) {
      if (!isNeeded()) return null;
      const problem = error instanceof Error ? error.message : String(error);
      const delay = RETRIES[failures] ?? (tireless() ? RETRIES.at(-1) : undefined);
      if (delay === undefined) gaveUp(problem);
      else {
        troubled(problem);
        await pause(delay * 1000);
      }
    }
  }
  return null;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
