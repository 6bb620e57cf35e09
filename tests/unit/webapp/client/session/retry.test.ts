import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { retry } from "../../../../../webapp/static/src/client/session/retry";
import { UserError } from "../../../../../webapp/static/src/core/user-messages";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** What comes of something that works at the given attempt. */
async function tried(worksAt: number, tireless?: () => boolean) {
  let attempts = 0;
  let wanted = true;
  const troubles: (string | null)[] = [];
  const answer = retry({
    isNeeded: () => wanted,
    ask: async () => {
      attempts += 1;
      if (attempts < worksAt) throw new Error(`Attempt ${attempts}.`);
      return "done";
    },
    troubled: (problem) => troubles.push(problem),
    gaveUp: () => {
      wanted = false;
    },
    ...(tireless && { tireless }),
  });
  await vi.advanceTimersByTimeAsync(100_000);
  return { answer: await answer, attempts, last: troubles.at(-1) };
}

test("what fails is asked for again, and its trouble is over when it works", async () => {
  expect(await tried(4)).toEqual({ answer: "done", attempts: 4, last: null });
});

test("after three more attempts it is given up", async () => {
  expect(await tried(5)).toEqual({ answer: null, attempts: 4, last: "Attempt 3." });
});

test("what cannot work on this device is not asked for again, even by who is tireless", async () => {
  let attempts = 0;
  const problems: string[] = [];
  const answer = retry({
    isNeeded: () => problems.length === 0,
    ask: () => {
      attempts += 1;
      return Promise.reject(new UserError("This browser cannot.", { lasting: true }));
    },
    troubled: () => undefined,
    tireless: () => true,
    gaveUp: (problem) => problems.push(problem),
  });
  await vi.advanceTimersByTimeAsync(100_000);
  expect({ answer: await answer, attempts, problems }).toEqual({
    answer: null,
    attempts: 1,
    problems: ["This browser cannot."],
  });
});

test("who is tireless goes on, as long as it is", async () => {
  expect(await tried(8, () => true)).toEqual({ answer: "done", attempts: 8, last: null });
  let patience = 3;
  expect(await tried(8, () => --patience > 0)).toMatchObject({ answer: null, attempts: 6 });
});
