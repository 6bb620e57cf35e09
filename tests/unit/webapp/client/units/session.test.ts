import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Transport, TransportEvents } from "../../../../../webapp/static/src/client/transports/socket";
import { UnitsSession } from "../../../../../webapp/static/src/client/units/session";
import type {
  Trainer,
  TrainingResult,
} from "../../../../../webapp/static/src/client/workers/training-worker";
import {
  decodeUnits,
  encodeUnits,
  type ServerToUnits,
  type UnitsFrameOf,
} from "../../../../../webapp/static/src/protocol/wire/units";
import { unitOf } from "./fixtures";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const LONG = 100_000;

/** A server that gives units of which the weights are `lost`; it is started again as often as `dies` is called. */
class Server implements Transport {
  readonly address = "";
  readonly buffered = 0;
  readonly givenBack: UnitsFrameOf<"release">[] = [];
  readonly wanted: UnitsFrameOf<"want">[] = [];
  #events: TransportEvents | null = null;

  open(events: TransportEvents): void {
    this.#events = events;
    events.opened();
  }

  close(): void {
    this.#events = null;
  }

  send(frame: Uint8Array<ArrayBuffer>): void {
    const said = decodeUnits(frame);
    if (said.type === "release") this.givenBack.push(said);
    if (said.type === "want") this.wanted.push(said);
    if (said.type !== "enlist") return;
    const bundle = "a".repeat(64);
    const task = { task: "digits", client: "c".repeat(16), bundle };
    this.say({ type: "enlisted", ...task, chunk_bytes: 1024, offline: 1800 });
  }

  say(frame: ServerToUnits): void {
    this.#events?.received(encodeUnits(frame));
  }

  give(...leases: readonly number[]): void {
    for (const lease of leases) this.say(unitOf(lease));
  }

  dies(): void {
    const events = this.#events;
    this.#events = null;
    events?.closed();
  }
}

/** Training of a unit that takes a minute; calls `begun` first. */
async function trainForAMinute(begun: () => void): Promise<Partial<TrainingResult>> {
  begun();
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  return { update: new ArrayBuffer(8), examples: 32, steps: 4, loss: 1, sums: [], checkpoints: [] };
}

/**
 * A device that takes part. Its worker gets nothing of the units of leases below `there`, and is never done unless it
 * trains by `train`.
 */
async function joined(
  server: Server,
  there: number,
  train: () => Promise<unknown> = () => new Promise(() => undefined),
): Promise<UnitsSession> {
  const nothing = () => undefined;
  const worker = {
    load: async () => ({ backend: "wasm", stepMs: 1, metrics: [] }),
    fetch: async (lease: number) => {
      if (lease < there) throw new Error(`Blob of lease ${lease}: not found`);
      return true;
    },
    train,
    forget: nothing,
    stop: nothing,
    end: async () => undefined,
  } as unknown as Trainer;
  const session = new UnitsSession({
    transport: server,
    trainer: () => worker,
    origin: "http://minga.example.org",
    token: "t".repeat(43),
    agent: "test",
    program: null,
    changed: nothing,
    received: nothing,
    progressed: nothing,
    learned: nothing,
  });
  await session.start(null);
  await vi.advanceTimersByTimeAsync(LONG);
  return session;
}

test("units whose weights a restarted server lost are given back, and others done", async () => {
  const server = new Server();
  const session = await joined(server, 5);
  for (const leases of [
    [1, 2],
    [3, 4],
  ]) {
    server.give(...leases);
    server.dies();
    await vi.advanceTimersByTimeAsync(LONG);
  }
  expect(server.givenBack.map(({ lease, cause }) => [lease, cause])).toEqual(
    [1, 2, 3, 4].map((lease) => [lease, "data"]),
  );
  server.give(5);
  await vi.advanceTimersByTimeAsync(LONG);
  const { machine, problem } = session.view;
  expect(machine.units.map(({ unit, stage }) => [unit.lease, stage])).toEqual([[5, "training"]]);
  expect(problem).toBeNull();
});

test("a device that cannot get units of a server that was there all the time stops, with the reason", async () => {
  const server = new Server();
  const session = await joined(server, 5);
  for (const lease of [1, 2, 3]) {
    expect(session.view.machine.connection.state).toBe("open");
    server.give(lease);
    await vi.advanceTimersByTimeAsync(LONG);
  }
  expect(session.view.machine.connection.state).toBe("closed");
  expect(session.view.problem).toBe("Blob of lease 3: not found");
});

test("a device that shall work offline takes more units once it knows how long one takes", async () => {
  const server = new Server();
  let begun = (): void => undefined;
  const training = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const session = await joined(server, 0, () => trainForAMinute(begun));
  // The task allows half an hour.
  session.workOffline(3600);
  server.give(1);
  await training;
  await vi.advanceTimersByTimeAsync(LONG);
  const slots = server.wanted.map((want) => [want.slots, want.offline]);
  expect(slots).toEqual([
    [2, 0],
    [2, 1800],
    [31, 1800],
  ]);
  session.finish();
  session.workOffline(900);
  expect(server.wanted.at(-1)).toMatchObject({ slots: 0, offline: 0 });
});
