import type { NamedTensorMap, Tensor } from "@tensorflow/tfjs-core";
import { beforeEach, expect, test, vi } from "vitest";

const current = vi.hoisted(() => ({ backend: {} as object }));
vi.mock("@tensorflow/tfjs-core", () => ({ backend: () => current.backend }));
const { useRecorder } = await import("../../../../../webapp/static/src/engine/recording/recorder");
const { RepeatedRuns } = await import("../../../../../webapp/static/src/engine/recording/repeated-runs");

const log: string[] = [];
const none: Tensor[] = [];

/** Records whatever it is given, or nothing. */
function recorder(backend: object, canRecord = true) {
  return {
    backend,
    record(feed: NamedTensorMap, run: (feed: NamedTensorMap) => Tensor[]) {
      log.push("record");
      const recording = {
        fits: ({ x }: NamedTensorMap) => x !== undefined,
        replay: () => {
          log.push("replay");
          return none;
        },
        dispose: () => log.push("dispose"),
      };
      return { outputs: run(feed), recording: canRecord ? recording : null };
    },
  };
}

const x = { x: {} as Tensor };
let runs: InstanceType<typeof RepeatedRuns>;

beforeEach(() => {
  log.length = 0;
  current.backend = {};
  runs = new RepeatedRuns(() => {
    log.push("execute");
    return none;
  });
});

test("the second run is recorded, and later ones repeat it", () => {
  useRecorder(recorder(current.backend));
  for (let run = 0; run < 4; run++) runs.run(x);
  expect(log).toEqual(["execute", "record", "execute", "replay", "replay"]);
  expect(runs.isRecorded).toBe(true);
});

test("inputs that do not fit are executed", () => {
  useRecorder(recorder(current.backend));
  for (const feed of [x, x, {}, x]) runs.run(feed);
  expect(log).toEqual(["execute", "record", "execute", "execute", "replay"]);
});

test("a run that cannot be recorded is tried once", () => {
  useRecorder(recorder(current.backend, false));
  for (let run = 0; run < 4; run++) runs.run(x);
  expect(log).toEqual(["execute", "record", "execute", "execute", "execute"]);
});

test("without a recorder of this backend every run is executed", () => {
  useRecorder(recorder({}));
  for (let run = 0; run < 3; run++) runs.run(x);
  expect(log).toEqual(["execute", "execute", "execute"]);
});

test("another recorder makes a recording of its own", () => {
  useRecorder(recorder(current.backend));
  for (let run = 0; run < 3; run++) runs.run(x);
  useRecorder(recorder(current.backend));
  for (let run = 0; run < 3; run++) runs.run(x);
  const once = ["execute", "record", "execute", "replay"];
  expect(log).toEqual([...once, "dispose", ...once]);
});

test("a graph that is disposed frees its recording", () => {
  useRecorder(recorder(current.backend));
  for (let run = 0; run < 2; run++) runs.run(x);
  runs.dispose();
  expect(log.at(-1)).toBe("dispose");
});
