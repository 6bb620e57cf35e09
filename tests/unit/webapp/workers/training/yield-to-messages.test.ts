import { afterEach, expect, test, vi } from "vitest";
import { yieldToMessages } from "../../../../../webapp/static/src/workers/training/metric-sums";

afterEach(() => {
  vi.restoreAllMocks();
});

test("a message that waits is handled first", async () => {
  const handled: string[] = [];
  setTimeout(() => handled.push("timer"), 0);
  await yieldToMessages();
  await yieldToMessages();
  await new Promise((resolve) => setTimeout(resolve, 5));
  handled.push("training");
  expect(handled).toEqual(["timer", "training"]);
});

test("a training goes on when its message to itself is lost, and with the next one, too", async () => {
  const post = vi.spyOn(MessagePort.prototype, "postMessage").mockImplementationOnce(() => undefined);
  await yieldToMessages();
  expect(post).toHaveBeenCalledTimes(1);
  await yieldToMessages();
  expect(post).toHaveBeenCalledTimes(2);
  // The port that lost a message is not asked again.
  expect(post.mock.contexts[1]).not.toBe(post.mock.contexts[0]);
});
