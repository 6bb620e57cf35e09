/** Retries work that failed, for example while the server restarts. */

import { isLasting } from "../../core/user-messages";
import { say } from "../../i18n";

/** Seconds before each retry; the last one for all that follow. */
const RETRIES = [1, 3, 9];

export interface RetryOptions<A> {
  /** Whether the answer is still needed. */
  readonly isNeeded: () => boolean;
  readonly ask: () => Promise<A>;
  /** The work failed for this reason and is tried again; null when it succeeded after all. */
  readonly troubled: (problem: string | null) => void;
  /** Whether to retry without end; by default there are three retries. */
  readonly tireless?: () => boolean;
  /** The work failed for the last time. */
  readonly gaveUp: (problem: string) => void;
}

/** Returns the answer; null if it is no longer needed or no retry succeeded. A lasting error is not retried. */
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
      const problem = say.problem(error);
      const next = RETRIES[failures] ?? (tireless() ? RETRIES.at(-1) : undefined);
      const delay = isLasting(error) ? undefined : next;
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
