import { describe, expect, test } from "vitest";
import type { RoundsView } from "../../../../../webapp/static/src/client/session/session";
import {
  handle,
  INITIAL,
  type ParticipantState,
} from "../../../../../webapp/static/src/protocol/rounds/participant";
import type { ParticipantEvent } from "../../../../../webapp/static/src/protocol/rounds/participant-events";
import type { FrameOf } from "../../../../../webapp/static/src/protocol/wire/messages";
import { statusOf } from "../../../../../webapp/static/src/ui/train/status";

const HASH = "a".repeat(64);
const ME = "0123456789abcdef";

const ACCEPTED: FrameOf<"accepted"> = {
  type: "accepted",
  round: 4,
  examples: 9,
  counted: true,
  reason: "",
  code: null,
  found: [],
  rounds: 0,
};

const START: ParticipantEvent = {
  type: "start",
  hello: {
    type: "hello",
    token: "a-token-of-more-than-22-characters",
    kind: "browser",
    backend: "wasm",
    agent: "test",
    aggregation: ["open"],
    min_masked: 0,
  },
  min_noise: 0,
};
const WELCOMED: readonly ParticipantEvent[] = [
  START,
  { type: "connected" },
  {
    type: "frame",
    frame: {
      type: "welcome",
      task: "digits",
      client: ME,
      bundle: HASH,
      run: HASH,
      chunk_bytes: 1000,
      aggregation: "open",
      masking: null,
      privacy: null,
      probation: 0,
    },
  },
];
const READY: readonly ParticipantEvent[] = [
  ...WELCOMED,
  { type: "loaded", backend: "wasm", step_ms: 8, examples: 0, program: null },
];
const TRAINING: readonly ParticipantEvent[] = [
  ...READY,
  {
    type: "frame",
    frame: {
      type: "train",
      round: 4,
      version: 3,
      weights: HASH,
      epochs: 1,
      steps: 0,
      batch_size: 32,
      learning_rate: 0.003,
      past_steps: 0,
      seed: 1,
      proximal_mu: 0,
      masking: null,
      privacy: null,
      control: null,
      shards: [],
      seconds: 60,
    },
  },
];
const TRAINED: readonly ParticipantEvent[] = [
  ...TRAINING,
  { type: "trained", round: 4, examples: 400, steps: 26, loss: 0.5, sums: [], size: 40 },
];

const MEASURING: readonly ParticipantEvent[] = [
  ...READY,
  {
    type: "frame",
    frame: { type: "evaluate", round: 4, version: 4, weights: HASH, shards: [], seconds: 30 },
  },
];

function after(events: readonly ParticipantEvent[]): ParticipantState {
  return events.reduce((state, event) => handle(state, event).state, INITIAL);
}

function view(events: readonly ParticipantEvent[], more: Partial<RoundsView> = {}): RoundsView {
  const nothing = {
    client: ME,
    counted: null,
    uncounted: "",
    checked: null,
    task: null,
    taskAt: 0,
    progress: null,
    done: null,
    masked: null,
    loaded: null,
    notice: null,
    retryAt: null,
    problem: null,
  };
  return { machine: after(events), examples: 0, ...nothing, ...more };
}

function taskState(change: Partial<FrameOf<"state">>): FrameOf<"state"> {
  return {
    type: "state",
    phase: "waiting",
    round: 4,
    version: 3,
    needed: 0,
    cohort: 0,
    reported: 0,
    quorum: 1,
    seconds: null,
    participants: [],
    ...change,
  };
}

const progress = {
  type: "progress",
  id: 1,
  step: 12,
  steps: 36,
  loss: 0.42,
  stepMs: 8,
} as const;
const reported = { client: ME, kind: "browser", backend: "wasm", status: "reported", accepted: 1 } as const;

describe("What the volunteer's device does, in words", () => {
  test.each<[string, RoundsView, string]>([
    ["before the first start", view([]), "Ready when you are"],
    ["connecting", view([START]), "Connecting"],
    ["loading", view(WELCOMED), "Getting ready"],
    ["too few are here", view(READY, { task: taskState({ needed: 1 }) }), "Waiting for 1 more participant"],
    ["far too few", view(READY, { task: taskState({ needed: 3 }) }), "Waiting for 3 more participants"],
    ["training", view(TRAINING, { progress }), "Step 12 of 36 in round 4"],
    ["before the first step", view(TRAINING), "Training: fetching the examples"],
    ["uploading", view(TRAINED), "Sending your update"],
    ["measuring", view(MEASURING), "Measuring the new version"],
    ["ended by itself", view([...READY, { type: "stop" }], { problem: "No memory." }), "Stopped"],
    ["left without an update", view([...READY, { type: "stop" }]), "Stopped"],
    [
      "its updates do not count",
      view(READY, {
        task: taskState({ phase: "training", cohort: 3, reported: 1, participants: [reported] }),
        uncounted: "Your updates do not count at present: in earlier rounds they repeated earlier ones.",
      }),
      "Your updates do not count at present",
    ],
    [
      "left after one",
      view([...TRAINED, { type: "frame", frame: ACCEPTED }, { type: "stop" }]),
      "Stopped. Thank you!",
    ],
    [
      "its owner paused it",
      view(READY, { task: taskState({ phase: "paused" }) }),
      "Paused by the task’s owner",
    ],
    [
      "all is done",
      view([...READY, { type: "frame", frame: taskState({ phase: "finished" }) }]),
      "The model is trained",
    ],
  ])("%s", (_, shown, line) => {
    expect(statusOf(shown, 0).line).toBe(line);
  });

  test("a newcomer reads that its update was checked, and how many more have to be", () => {
    const trained = (probation: number) =>
      TRAINED.map((event) =>
        event.type === "frame" && event.frame.type === "welcome"
          ? { ...event, frame: { ...event.frame, probation } }
          : event,
      );
    const task = taskState({ phase: "training", cohort: 2, reported: 1 });
    const answer = { type: "frame", frame: { ...ACCEPTED, examples: 0, counted: false } } as const;
    const read = (rounds: number) => statusOf(view([...trained(rounds), answer], { task, checked: 4 }), 0);
    expect(read(3).line).toBe("Your update was checked");
    expect(read(3).hint).toContain("Yours count after 2 more rounds.");
    expect(read(1).hint).toContain("From the next round on, yours count.");
  });

  test("who waits reads how many are here of those with whom a round begins", () => {
    const waiting = (needed: number, least: number) =>
      statusOf(view(READY, { task: taskState({ needed }) }), 0, null, least).line;
    expect(waiting(1, 3)).toBe("Waiting for others: 2 of 3 are here");
    expect(waiting(2, 3)).toBe("Waiting for others: 1 of 3 is here");
    expect(waiting(3, 2)).toBe("Waiting for 3 more participants");
  });

  test("an update that counts waits for the others, with the time left", () => {
    const task = taskState({
      phase: "training",
      cohort: 3,
      reported: 1,
      seconds: 42,
      participants: [reported],
    });
    const status = statusOf(view(READY, { task, taskAt: 1000 }), 3000);
    expect(status.line).toBe("Your update counts: waiting for 2 others");
    expect(status.hint).toBe("Round 4: 1 of 3 updates in so far, at most 40 s.");
    const masked = { stage: "masked", members: 3, active: false, met: null, reason: null } as const;
    const { hint } = statusOf(view(READY, { task, taskAt: 1000, masked }), 3000);
    expect(hint).toContain("Stay until it ends");
  });

  test("what was told to this participant alone is shown before the list knows it", () => {
    const task = taskState({ phase: "training", cohort: 2, seconds: 9 });
    const status = statusOf(view(READY, { task, counted: 4 }), 0);
    expect(status.line).toBe("Your update counts: waiting for 1 other");
  });

  test("the steps are shown while this device trains, and no longer once its update is on its way", () => {
    expect(statusOf(view(TRAINING, { progress }), 0).steps).toEqual([12, 36]);
    expect(statusOf(view(TRAINED, { progress }), 0).steps).toBeNull();
  });

  test("an update with fewer steps than planned says so", () => {
    expect(statusOf(view(TRAINED, { done: [12, 20] }), 0).hint).toContain(
      "60\u202f% of the steps are done in time",
    );
    expect(statusOf(view(TRAINED, { done: [20, 20] }), 0).hint).not.toContain("%");
  });

  test("in a masked round the update waits for the others' keys, and the page says among how many it is masked", () => {
    const masked = { stage: "dealing", members: 5, active: false, met: null, reason: null } as const;
    expect(statusOf(view(TRAINING, { progress, masked }), 0).line).toBe("Step 12 of 36 in round 4");
    const waiting = statusOf(view(TRAINING, { progress, masked, done: [36, 36] }), 0);
    expect(waiting).toMatchObject({
      line: "Masking your update",
      hint: "Round 4. It waits for the keys of the others.",
    });
    const made = { ...masked, stage: "masked" } as const;
    const { hint } = statusOf(view(TRAINING, { progress, masked: made, done: [36, 36] }), 0);
    expect(hint).toBe("Round 4. Its masks are in the making.");
    expect(statusOf(view(TRAINED, { masked, done: [36, 36] }), 0).hint).toContain("Masked among 5");
  });

  test("a masked round that this device gave up says why", () => {
    const reason = "Two clients of the roster have the same key.";
    const masked = { stage: "refused", members: 0, active: false, met: null, reason } as const;
    expect(statusOf(view(TRAINING, { progress, masked }), 0)).toMatchObject({
      line: "This round continues without you",
      hint: reason,
    });
  });

  test("offline counts down to the next attempt, and training goes on", () => {
    const events: readonly ParticipantEvent[] = [...TRAINING, { type: "disconnected", random: 0.5 }];
    const status = statusOf(view(events, { progress, retryAt: 5000 }), 1200);
    expect(status.line).toBe("Offline: trying again in 4 s");
    expect(status.hint).toContain("step 12 of 36");
    expect(status.steps).toEqual([12, 36]);
  });

  test("who is sent away reads why, until the next connection is open", () => {
    const reason = "512 connections come from your network address already.";
    const lost: ParticipantEvent = { type: "disconnected", random: 0.5 };
    const events: readonly ParticipantEvent[] = [
      ...READY,
      { type: "frame", frame: { type: "closing", code: "busy", reason } },
      lost,
    ];
    const status = statusOf(view(events, { retryAt: 9000 }), 1000);
    expect(status).toMatchObject({ line: "Offline: trying again in 8 s", hint: reason });
    const welcomed = [...events, ...READY.filter(({ type }) => type !== "start"), lost];
    expect(statusOf(view(welcomed), 0).hint).toContain("cannot be reached");
  });

  test("what is spoken does not change with every step and second", () => {
    const spoken = (step: number) =>
      statusOf(view(TRAINING, { progress: { ...progress, step } }), step * 1000).spoken;
    expect(spoken(1)).toBe(spoken(2));
  });

  test("the reason of a replaced session is shown", () => {
    const reason = "Another tab has taken over.";
    const events: readonly ParticipantEvent[] = [
      ...READY,
      { type: "frame", frame: { type: "closing", code: "replaced", reason } },
    ];
    expect(statusOf(view(events), 0)).toMatchObject({ phase: "stopped", line: "Stopped", hint: reason });
  });
});
