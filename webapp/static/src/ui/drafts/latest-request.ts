/** Requests that follow a person's typing: only the newest answer is used. */

import { Refusal, requestJson } from "../lib/api";

const PAUSE_MS = 300;

/**
 * Posts the result of `body` to `address`, a moment after each call. `show` gets the answer unless a newer request
 * was made meanwhile, `refused` the sentence of a refusal.
 */
export function latestRequest<T>(
  address: string,
  body: () => unknown,
  show: (answer: T) => void,
  refused: (why: string) => void,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let newest = 0;
  async function now(number: number): Promise<void> {
    try {
      const answer = (await requestJson("POST", address, body())) as T;
      if (number === newest) show(answer);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (number === newest) refused(error.message);
    }
  }
  return () => {
    newest += 1;
    const number = newest;
    clearTimeout(timer);
    timer = setTimeout(() => void now(number), number === 1 ? 0 : PAUSE_MS);
  };
}
