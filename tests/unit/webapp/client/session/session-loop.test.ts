import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { NOTHING_SHOWN, SessionLoop } from "../../../../../webapp/static/src/client/session/session-loop";
import type { Transport } from "../../../../../webapp/static/src/client/transports/socket";
import type { Trainer } from "../../../../../webapp/static/src/client/workers/training-worker";
import {
  type Connect,
  type ConnectedMachine,
  type ConnectionEvent,
  NO_CONNECTION,
  type Send,
} from "../../../../../webapp/static/src/protocol/client/connection";
import type { Step } from "../../../../../webapp/static/src/protocol/client/reducer";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A machine that is wherever its connection is. */
function handle(
  state: ConnectedMachine,
  event: ConnectionEvent,
): Step<ConnectedMachine, Connect | Send<never>> {
  const link = { connected: "open", disconnected: "lost", stop: "closed" } as const;
  return { state: { ...state, connection: { ...state.connection, state: link[event.type] } }, effects: [] };
}

/** A loop whose worker fails until `works` holds. */
function begun(works: () => boolean) {
  const trainer = {
    load: async () => {
      if (!works()) throw new Error("Failed to fetch");
      return { backend: "wasm", stepMs: 1 };
    },
    end: async () => undefined,
  } as unknown as Trainer;
  const nothing = () => undefined;
  const transport: Transport = { address: "", open: nothing, send: nothing, close: nothing, buffered: 0 };
  const loop = new SessionLoop<
    ConnectedMachine,
    ConnectionEvent,
    { type: string },
    never,
    never,
    typeof NOTHING_SHOWN
  >(
    {
      transport,
      trainer: () => trainer,
      origin: "http://minga.example.org",
      token: "token",
      agent: "test",
      program: null,
      changed: nothing,
      received: nothing,
      progressed: nothing,
      learned: nothing,
    },
    {
      initial: { connection: NO_CONNECTION, reason: null },
      shown: NOTHING_SHOWN,
      handle,
      encode: () => new Uint8Array(),
      decode: () => undefined as never,
      perform: nothing,
      received: nothing,
    },
  );
  loop.dispatch({ type: "connected" });
  return loop;
}

test("what cannot be fetched while the server is away is asked for until it is back", async () => {
  let isBack = false;
  const loop = begun(() => isBack);
  const loading = loop.trainer.load("bundle", null, () => !loop.isClosed);
  await vi.advanceTimersByTimeAsync(500);
  loop.dispatch({ type: "disconnected", random: 0 });
  await vi.advanceTimersByTimeAsync(100_000);
  expect(loop.machine.connection.state).toBe("lost");
  expect(loop.shown.problem).toBe("Failed to fetch");
  isBack = true;
  loop.dispatch({ type: "connected" });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await loading).toMatchObject({ backend: "wasm" });
  expect(loop.shown.problem).toBeNull();
});

test("what cannot be fetched though the server is there ends the loop, with the reason", async () => {
  const loop = begun(() => false);
  const loading = loop.trainer.load("bundle", null, () => !loop.isClosed);
  await vi.advanceTimersByTimeAsync(100_000);
  expect(await loading).toBeNull();
  expect(loop.isClosed).toBe(true);
  expect(loop.shown.problem).toBe("Failed to fetch");
});
