import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Session } from "../../../../../webapp/static/src/client/session/session";
import type { Transport, TransportEvents } from "../../../../../webapp/static/src/client/transports/socket";
import type { Trainer } from "../../../../../webapp/static/src/client/workers/training-worker";
import {
  decodeClient,
  encodeFrame,
  type FrameOf,
} from "../../../../../webapp/static/src/protocol/wire/messages";

const HASH = "a".repeat(64);
type Welcome = FrameOf<"welcome">;
type Train = FrameOf<"train">;

const OPEN: Welcome = {
  type: "welcome",
  task: "digits",
  client: "c".repeat(16),
  bundle: HASH,
  run: HASH,
  chunk_bytes: 1024,
  aggregation: "open",
  masking: null,
  privacy: null,
  probation: 0,
};
const MASKED: Welcome = {
  ...OPEN,
  aggregation: "masked",
  masking: { clip: 1, min_clients: 3, server: "active" },
};
const LOCAL: Welcome = {
  ...OPEN,
  privacy: { mechanism: "local", clip: 1, noise: 5, delta: 1e-5, microbatch: 0, visits: 0 },
};
const PLAN: Train = {
  type: "train",
  round: 1,
  version: 0,
  weights: HASH,
  epochs: 1,
  steps: 0,
  batch_size: 32,
  learning_rate: 0.1,
  past_steps: 0,
  seed: 7,
  proximal_mu: 0,
  control: null,
  masking: null,
  privacy: null,
  shards: [{ sha256: HASH, examples: 64 }],
  seconds: 30,
};

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("Worker", class {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A page's session with a server that says these welcomes, one a connection, and then always the same plan. */
function page(welcomes: readonly Welcome[]) {
  const left = [...welcomes];
  const sent: string[] = [];
  let events: TransportEvents | null = null;
  const transport: Transport = {
    address: "wss://example.org/api/tasks/digits/socket",
    buffered: 0,
    open(opened) {
      events = opened;
      opened.opened();
    },
    close: () => undefined,
    send(bytes) {
      const { type } = decodeClient(bytes);
      sent.push(type);
      const welcome = type === "hello" ? left.shift() : undefined;
      if (welcome) events?.received(encodeFrame(welcome as never));
      if (type === "ready" && left.length === 0) events?.received(encodeFrame(PLAN as never));
    },
  };
  const trainer = {
    load: async () => ({ backend: "wasm", stepMs: 1, parameters: 10, rows: 1, metrics: [] }),
    train: async () => ({
      update: new ArrayBuffer(40),
      examples: 64,
      steps: 1,
      planned: 1,
      loss: 1,
      sums: [[1, 1]],
      change: null,
    }),
    stop: () => undefined,
    end: async () => undefined,
  } as unknown as Trainer;
  const ignore = () => undefined;
  const session = new Session({
    transport,
    trainer: () => trainer,
    origin: "https://example.org",
    token: "t".repeat(24),
    agent: "test",
    program: null,
    changed: ignore,
    received: ignore,
    progressed: ignore,
    learned: ignore,
    examples: () => 0,
    made: null,
  });
  return { session, sent, lose: () => events?.closed() };
}

test("a session trains for a server that keeps its word", async () => {
  const { session, sent } = page([OPEN]);
  session.start("wasm", 0, 0);
  await vi.advanceTimersByTimeAsync(2000);
  expect(sent).toContain("offer");
});

test("a session offers no open update on a new connection after a masked welcome", async () => {
  const { session, sent, lose } = page([MASKED, OPEN]);
  session.start("wasm", 0, 0);
  await vi.advanceTimersByTimeAsync(2000);
  lose();
  await vi.advanceTimersByTimeAsync(5000);
  expect(session.view.machine.reason).toContain("in a different form than agreed");
  expect(sent).not.toContain("offer");
});

test.each([
  ["masks", MASKED, "in a different form than agreed"],
  ["noise", LOCAL, "than it promised when this client joined"],
] as const)("a server is held to its %s when the volunteer stops and starts", async (_, first, reason) => {
  const { session, sent } = page([first, OPEN]);
  session.start("wasm", 0, 0);
  await vi.advanceTimersByTimeAsync(2000);
  session.stop();
  session.start("wasm", 0, 0);
  await vi.advanceTimersByTimeAsync(2000);
  expect(session.view.machine.reason).toContain(reason);
  expect(sent).not.toContain("offer");
});

test("a session leaves terms that scale the noise to nothing", async () => {
  const { privacy } = LOCAL;
  const { session, sent } = page([{ ...LOCAL, privacy: privacy && { ...privacy, clip: 0 } }]);
  session.start("wasm", 0, 5);
  await vi.advanceTimersByTimeAsync(2000);
  expect(session.view.machine.reason).toContain("in terms that protect nothing");
  expect(sent).not.toContain("offer");
});
