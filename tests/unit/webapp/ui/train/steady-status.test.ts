import { expect, test } from "vitest";
import {
  INITIAL,
  LASTS,
  type SteadyState,
  steady,
} from "../../../../../webapp/static/src/ui/train/steady-status";
import type { Status } from "../../../../../webapp/static/src/ui/train/texts";

const words = (phase: string, line: string, spoken = line): Status => ({
  phase,
  line,
  hint: "",
  spoken,
  steps: null,
});
const step = (number: number, round = 5) =>
  words("training", `Step ${number} of 40 in round ${round}`, `Training, round ${round}`);
const READY = words("stopped", "Ready when you are");
const CONNECTING = words("connecting", "Connecting");
const WAITING = words("waiting", "Waiting for the next round");
const SENDING = words("uploading", "Sending your update");
const DONE = words("finished", "The model is trained");

/** Plays what the device does, with the time of each change; the page looks every 100 ms, and returns what it shows. */
function shown(phases: readonly (readonly [at: number, status: Status])[], until: number): string[] {
  const lines: string[] = [];
  let state: SteadyState = INITIAL;
  for (let now = 0; now <= until; now += 100) {
    const current = phases.filter(([at]) => at <= now).at(-1)?.[1];
    if (current === undefined) continue;
    state = steady(state, current, now);
    const line = state.shown?.line ?? "";
    if (line !== lines.at(-1)) lines.push(line);
  }
  return lines;
}

test("the first status is shown at once, and so is the answer to the button", () => {
  expect(
    shown(
      [
        [0, READY],
        [100, CONNECTING],
      ],
      100,
    ),
  ).toEqual(["Ready when you are", "Connecting"]);
});

test("a short phase between two longer ones is not shown", () => {
  const phases = [
    [0, step(39)],
    [1000, SENDING],
    [1200, WAITING],
    [5000, step(1, 6)],
  ] as const;
  expect(shown(phases, 6000)).toEqual([
    "Step 39 of 40 in round 5",
    "Waiting for the next round",
    "Step 1 of 40 in round 6",
  ]);
});

test("a phase that comes back at once leaves the line where it is", () => {
  const phases = [
    [0, WAITING],
    [1000, CONNECTING],
    [1300, WAITING],
  ] as const;
  expect(shown(phases, 3000)).toEqual(["Waiting for the next round"]);
});

test("steps of one round count up without delay", () => {
  const phases = [
    [0, step(1)],
    [100, step(2)],
    [200, step(3)],
  ] as const;
  expect(shown(phases, 200)).toHaveLength(3);
});

test("where no phase lasts, the line is renewed every two seconds, so that it is never old", () => {
  const phases = Array.from({ length: 40 }, (_, index) => {
    const status = [step(1, index), SENDING, WAITING][index % 3] ?? WAITING;
    return [index * 200, status] as const;
  });
  const lines = shown(phases, 8000);
  expect(lines.length).toBeGreaterThanOrEqual(3);
  expect(lines.length).toBeLessThanOrEqual(5);
});

test.each([READY, DONE])("an end is shown at once: $line", (end) => {
  expect(
    shown(
      [
        [0, WAITING],
        [100, end],
      ],
      100,
    ).at(-1),
  ).toBe(end.line);
});

test("the page is told when to look again", () => {
  const waiting = steady(INITIAL, WAITING, 0);
  expect(waiting.due).toBeNull();
  expect(steady(waiting, SENDING, 1000).due).toBe(1000 + LASTS);
});
