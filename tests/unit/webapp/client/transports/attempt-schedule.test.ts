import { expect, test } from "vitest";
import { AttemptSchedule } from "../../../../../webapp/static/src/client/transports/attempt-schedule";
import type { Way } from "../../../../../webapp/static/src/protocol/wire/mesh";

const BOTH: ReadonlySet<Way> = new Set(["webrtc", "relay"]);
const RELAY: ReadonlySet<Way> = new Set(["relay"]);

/** The first second, from `from` on, in which this way is due. */
function due(trials: AttemptSchedule, way: "webrtc" | "relay", from = 0): number {
  for (let second = from; second < from + 200; second++) if (trials.due(way, second)) return second;
  return Number.POSITIVE_INFINITY;
}

test("the one who leads begins at once, the other leaves it time; both relay when nothing came of that", () => {
  const [leads, follows] = [new AttemptSchedule(BOTH, true, 0), new AttemptSchedule(BOTH, false, 0)];
  expect([due(leads, "webrtc"), due(leads, "relay")]).toEqual([0, 8]);
  expect([due(follows, "webrtc"), due(follows, "relay")]).toEqual([3, 11]);
});

test("where there is no direct way, it is relayed at once, and the other way never tried", () => {
  const trials = new AttemptSchedule(RELAY, true, 0);
  expect(due(trials, "relay")).toBe(0);
  expect(due(trials, "webrtc")).toBe(Number.POSITIVE_INFINITY);
  trials.reconnect(50);
  expect(due(trials, "relay")).toBe(50);
});

test("what fails is tried again later each time, until it succeeds", () => {
  const trials = new AttemptSchedule(BOTH, true, 0);
  const waits = [0, 0, 0, 0, 0, 0].map(() => {
    trials.failed("webrtc", false, 0);
    return due(trials, "webrtc");
  });
  expect(waits).toEqual([4, 8, 16, 32, 60, 60]);
  trials.succeeded("webrtc");
  trials.failed("webrtc", false, 0);
  expect(due(trials, "webrtc")).toBe(4);
});

test("what cannot be had directly is relayed at once; a better way beside the relay is tried once a minute", () => {
  const trials = new AttemptSchedule(BOTH, true, 0);
  trials.failed("webrtc", false, 2);
  expect(due(trials, "relay")).toBe(2);
  trials.failed("webrtc", true, 10);
  expect(due(trials, "webrtc")).toBe(70);
});

test("when the other is there again, what was put off is tried at once", () => {
  const trials = new AttemptSchedule(BOTH, true, 0);
  trials.failed("webrtc", true, 0);
  trials.retryDelayed(5);
  expect(due(trials, "webrtc")).toBe(5);
});

test("who speaks something else is left alone for a minute", () => {
  const trials = new AttemptSchedule(BOTH, true, 0);
  trials.rest(1);
  expect([due(trials, "webrtc"), due(trials, "relay")]).toEqual([61, 61]);
});
