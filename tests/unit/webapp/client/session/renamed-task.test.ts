import { afterEach, expect, test, vi } from "vitest";

/** What stands in for the browser's databases. */
const kept = new Map<string, unknown>();

vi.mock("../../../../../webapp/static/src/core/data/storage", () => ({
  BrowserStore: class {
    constructor(private readonly database: string) {}
    get = async (name: string) => kept.get(`${this.database}/${name}`);
    putFirst = async (name: string, thing: unknown) => {
      const key = `${this.database}/${name}`;
      if (!kept.has(key)) kept.set(key, thing);
      return kept.get(key);
    };
    update = async (name: string, change: (stored: unknown) => unknown) => {
      const key = `${this.database}/${name}`;
      kept.set(key, change(kept.get(key)));
    };
  },
}));
vi.stubGlobal(
  "Worker",
  class {
    postMessage(): void {}
    terminate(): void {}
  },
);

import { Session } from "../../../../../webapp/static/src/client/session/session";
import type { Transport, TransportEvents } from "../../../../../webapp/static/src/client/transports/socket";
import type { Trainer } from "../../../../../webapp/static/src/client/workers/training-worker";
import {
  decodeClient,
  encodeFrame,
  type ServerFrame,
} from "../../../../../webapp/static/src/protocol/wire/messages";

const HASH = "a".repeat(64);
const ADDRESS = "wss://example.org/api/tasks/digits/socket";

afterEach(() => {
  vi.useRealTimers();
  kept.clear();
});

/** A server that gives its task another name on each connection, and opens a masked round of version 0. */
function renaming() {
  const server = { connections: 0, events: null as TransportEvents | null };
  const say = (frame: ServerFrame) => server.events?.received(encodeFrame(frame));
  const transport: Transport = {
    address: ADDRESS,
    buffered: 0,
    open: (events) => {
      server.events = events;
      server.connections++;
      events.opened();
    },
    close: () => undefined,
    send: (bytes) => {
      const { type } = decodeClient(bytes);
      if (type === "hello") {
        const task = `digits-${server.connections}`;
        const names = { task, client: "c".repeat(16), bundle: HASH, run: "d".repeat(64), chunk_bytes: 1024 };
        const masking = { clip: 1, min_clients: 3, server: "active" } as const;
        say({ type: "welcome", ...names, aggregation: "masked", masking, privacy: null, probation: 0 });
      }
      if (type === "ready") say(planOf(server.connections));
    },
  };
  return { server, transport };
}

function planOf(round: number): ServerFrame {
  const masking = { bits: 32, clip: 1, examples: 64, noise: 0, share: 1, min_clients: 3, server: "active" };
  return {
    type: "train",
    round,
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
    masking,
    privacy: null,
    shards: [{ sha256: HASH, examples: 64 }],
    seconds: 30,
  } as ServerFrame;
}

test("spent versions are those of the address that was dialled, whatever the server calls its task", async () => {
  vi.useFakeTimers();
  const { server, transport } = renaming();
  const nothing = () => undefined;
  const trainer = {
    load: async () => ({ backend: "wasm", stepMs: 1, parameters: 10, rows: 1, metrics: [] }),
    train: () => new Promise(nothing),
    stop: nothing,
    end: async () => undefined,
  } as unknown as Trainer;
  const session = new Session({
    transport,
    trainer: () => trainer,
    origin: "https://example.org",
    token: "t".repeat(24),
    agent: "test",
    program: null,
    changed: nothing,
    received: nothing,
    progressed: nothing,
    learned: nothing,
    examples: () => 0,
    made: null,
  });
  session.start(null, 0, 0);
  await vi.advanceTimersByTimeAsync(2_000);
  server.events?.closed();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(server.connections).toBe(2);
  expect([...kept.keys()].filter((key) => key.startsWith("minga-spent/"))).toEqual([
    `minga-spent/${ADDRESS}`,
  ]);
  session.stop();
});
