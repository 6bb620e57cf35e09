import { expect, test } from "vitest";
import { PendingCalls } from "../../../../webapp/static/src/core/pending-calls";
import { later, messageOf, type UserMessage } from "../../../../webapp/static/src/core/user-messages";

interface Question {
  readonly type: "add";
  readonly id: number;
  readonly numbers: readonly number[];
}
type Answer =
  | { readonly type: "progress"; readonly id: number; readonly sum: number }
  | { readonly type: "added"; readonly id: number; readonly sum: number }
  | { readonly type: "failed"; readonly id: number; readonly problem: UserMessage };

function calls() {
  const posted: Question[] = [];
  return { posted, calls: new PendingCalls<Question, Answer>((message) => posted.push(message)) };
}

test("each question gets the answer with its number, after any progress", async () => {
  const { posted, calls: pending } = calls();
  const progress: number[] = [];
  const first = pending.ask<Answer>({ type: "add", numbers: [1, 2] }, [], (message) => {
    if ("sum" in message) progress.push(message.sum);
  });
  const second = pending.ask<Answer>({ type: "add", numbers: [3] });
  expect(posted.map(({ id }) => id)).toEqual([1, 2]);
  pending.receive({ type: "added", id: 2, sum: 3 });
  pending.receive({ type: "progress", id: 1, sum: 1 });
  pending.receive({ type: "added", id: 1, sum: 3 });
  expect(await second).toMatchObject({ id: 2 });
  expect(await first).toMatchObject({ id: 1 });
  expect(progress).toEqual([1]);
});

test("a failed answer rejects with a message that a page can translate", async () => {
  const { calls: pending } = calls();
  const asked = pending.ask({ type: "add", numbers: [] });
  const problem = later("it must be a number", {});
  pending.receive({ type: "failed", id: 1, problem });
  expect(messageOf(await asked.catch((error: unknown) => error))).toEqual(problem);
});

test("answers without a question are ignored, and a worker that ends rejects all questions", async () => {
  const { calls: pending } = calls();
  const asked = [pending.ask({ type: "add", numbers: [] }), pending.ask({ type: "add", numbers: [] })];
  pending.receive({ type: "added", id: 7, sum: 0 });
  pending.receive({ type: "progress", id: 7, sum: 0 });
  pending.rejectAll(new Error("It ended."));
  for (const question of asked) await expect(question).rejects.toThrow("It ended.");
});
