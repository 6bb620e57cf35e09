import { expect, test } from "vitest";
import { latestOnly } from "../../../../../webapp/static/src/ui/playground/latest-job";

/** Work that ends when it is told to. */
function slow() {
  const ends: (() => void)[] = [];
  let begun = 0;
  const work = () => {
    begun += 1;
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  const turn = () => new Promise((resolve) => setTimeout(resolve));
  const end = async () => {
    ends.shift()?.();
    await turn();
  };
  return { work, end, begun: () => begun };
}

test("what is wanted more often than it can be done is done one at a time, and once more at the end", async () => {
  const { work, end, begun } = slow();
  const want = latestOnly(work);
  const done = want();
  for (let k = 0; k < 20; k += 1) void want();
  expect(begun()).toBe(1);
  await end();
  expect(begun()).toBe(2);
  await end();
  expect(begun()).toBe(2);
  await done;
});

test("what is wanted after the end begins anew", async () => {
  const { work, end, begun } = slow();
  const want = latestOnly(work);
  void want();
  await end();
  void want();
  expect(begun()).toBe(2);
  await end();
});
