import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { pollAfterChange } from "../../../../../webapp/static/src/ui/manage/polling";

let looks: number[];
let changed: () => void;
// Milliseconds until the server has a newer answer.
let newer: number;

beforeEach(() => {
  vi.useFakeTimers();
  const begun = performance.now();
  looks = [];
  newer = 0;
  changed = pollAfterChange(async () => {
    looks.push(performance.now() - begun);
    return newer;
  }, 2000);
});
afterEach(() => vi.useRealTimers());

test("after a change it looks at once, and again when the answer is newer than the change", async () => {
  await vi.advanceTimersByTimeAsync(10_000);
  expect(looks).toEqual([]);
  changed();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(looks).toEqual([10_000, 12_000]);
});

test("many changes are looked at no more often, and the last of them twice, too", async () => {
  for (let change = 0; change < 5; change += 1) {
    changed();
    await vi.advanceTimersByTimeAsync(1000);
  }
  await vi.advanceTimersByTimeAsync(10_000);
  expect(looks).toEqual([0, 2000, 4000, 6000, 8000]);
});

test("a change while it waits for its second look is looked at twice", async () => {
  changed();
  await vi.advanceTimersByTimeAsync(1999);
  changed();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(looks).toEqual([0, 2000, 4000]);
});

test("the second look waits until the server has a newer answer", async () => {
  newer = 3500;
  changed();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(looks).toEqual([0, 3500]);
});
