import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { lookTwice } from "../../../../../webapp/static/src/page/manage/looks";

let looks: number[];
let changed: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  const begun = performance.now();
  looks = [];
  changed = lookTwice(() => looks.push(performance.now() - begun), 2000);
});
afterEach(() => vi.useRealTimers());

test("after a change it looks at once, and again when the answer is newer than the change", () => {
  vi.advanceTimersByTime(10_000);
  expect(looks).toEqual([]);
  changed();
  vi.advanceTimersByTime(10_000);
  expect(looks).toEqual([10_000, 12_000]);
});

test("many changes are looked at no more often, and the last of them twice, too", () => {
  for (let change = 0; change < 5; change += 1) {
    changed();
    vi.advanceTimersByTime(1000);
  }
  vi.advanceTimersByTime(10_000);
  expect(looks).toEqual([0, 2000, 4000, 6000, 8000]);
});

test("a change while it waits for its second look is looked at twice", () => {
  changed();
  vi.advanceTimersByTime(1999);
  changed();
  vi.advanceTimersByTime(10_000);
  expect(looks).toEqual([0, 2000, 4000]);
});
