import { expect, test } from "vitest";
import { type Runs, SpentVersions } from "../../../../../webapp/static/src/client/session/spent-versions";

const TASK = "https://example.org digits";
const DAY = 24 * 3600 * 1000;

/** Spent versions of one browser, and its clock. */
function browser() {
  const kept = new Map<string, Runs>();
  const time = { now: 1_000 * DAY };
  const store = {
    update: async (task: string, change: (stored: Runs | undefined) => Runs) => {
      kept.set(task, change(kept.get(task)));
    },
  };
  return { kept, time, open: () => new SpentVersions(store, () => time.now) };
}

test("what was revealed is known to the next page, and never goes down", async () => {
  const { open } = browser();
  expect(await open().firstUnspent(TASK, "run")).toBe(0);
  await open().spend(TASK, "run", 4);
  await expect(open().spend(TASK, "run", 2)).rejects.toThrow("version 4 meanwhile");
  expect(await open().firstUnspent(TASK, "run")).toBe(5);
  expect(await open().firstUnspent("https://example.org letters", "run")).toBe(0);
});

test("a task that begins anew is joined again, so many times a day", async () => {
  const { open, time } = browser();
  for (const run of ["first", "second", "third"]) {
    expect(await open().firstUnspent(TASK, run)).toBe(0);
    await open().spend(TASK, run, 9);
  }
  await expect(open().firstUnspent(TASK, "fourth")).rejects.toThrow(
    "started from the beginning more than 3 times",
  );
  await expect(open().spend(TASK, "fourth", 9)).rejects.toThrow("started from the beginning");
  expect(await open().firstUnspent(TASK, "first")).toBe(10);
  time.now += DAY;
  expect(await open().firstUnspent(TASK, "fourth")).toBe(0);
});

test("runs of earlier days count when they have another reveal", async () => {
  const { open, time } = browser();
  for (const run of ["first", "second", "third", "fourth"]) {
    await open().spend(TASK, run, 9);
    time.now += DAY;
  }
  for (const run of ["first", "second", "third"]) await open().spend(TASK, run, 10);
  await expect(open().firstUnspent(TASK, "fourth")).rejects.toThrow("started from the beginning");
  await expect(open().spend(TASK, "fourth", 10)).rejects.toThrow("started from the beginning");
});

test("a version is spent once, whichever page asks first", async () => {
  const { open } = browser();
  const [one, two] = [open(), open()];
  await one.spend(TASK, "run", 4);
  await expect(two.spend(TASK, "run", 4)).rejects.toThrow("Another page of this browser revealed");
  await two.spend(TASK, "run", 5);
  await expect(two.spend(TASK, "run", Number.MAX_SAFE_INTEGER)).rejects.toThrow("No server comes to version");
});

test("only the newest runs are remembered", async () => {
  const { open, time, kept } = browser();
  for (let run = 0; run < 1_003; run++) {
    time.now += DAY;
    await open().spend(TASK, `run ${run}`, 0);
  }
  expect(kept.get(TASK)?.size).toBe(1_000);
  expect(kept.get(TASK)?.has("run 2")).toBe(false);
});
