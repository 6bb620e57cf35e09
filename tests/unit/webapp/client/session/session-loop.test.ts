import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { NOTHING_SHOWN, SessionLoop } from "../../../../../webapp/static/src/client/session/session-loop";
import type { Transport, TransportEvents } from "../../../../../webapp/static/src/client/transports/socket";
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
  const connection = { ...state.connection, state: link[event.type] };
  return {
    state: { ...state, connection },
    effects: event.type === "disconnected" ? [{ type: "connect", delay: 1 }] : [],
  };
}

/** The server's last frame. */
const CLOSING = { type: "closing", code: "banned-by-members", reason: "You are banned.", seconds: 0 };

/** A loop whose worker fails until `works` holds, and how it takes frames since it connected once more. */
function begun(works: () => boolean) {
  const trainer = {
    load: async () => {
      if (!works()) throw new Error("Failed to fetch");
      return { backend: "wasm", stepMs: 1 };
    },
    end: async () => undefined,
  } as unknown as Trainer;
  const nothing = () => undefined;
  let heard: TransportEvents | null = null;
  const transport: Transport = {
    address: "",
    open: (events) => {
      heard = events;
    },
    send: nothing,
    close: nothing,
    buffered: 0,
  };
  const loop = new SessionLoop<
    ConnectedMachine,
    ConnectionEvent,
    { type: string },
    never,
    typeof CLOSING,
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
      decode: () => CLOSING,
      perform: nothing,
      // A code after which no client comes back.
      received: () => loop.dispatch({ type: "stop" }),
    },
  );
  loop.dispatch({ type: "connected" });
  return { loop, hear: () => heard?.received(new Uint8Array()) };
}

test("what cannot be fetched while the server is away is asked for until it is back", async () => {
  let isBack = false;
  const { loop } = begun(() => isBack);
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
  const { loop } = begun(() => false);
  const loading = loop.trainer.load("bundle", null, () => !loop.isClosed);
  await vi.advanceTimersByTimeAsync(100_000);
  expect(await loading).toBeNull();
  expect(loop.isClosed).toBe(true);
  expect(loop.shown.problem).toBe("Failed to fetch");
});

test("why the server ended a session is shown", async () => {
  const { loop, hear } = begun(() => true);
  loop.dispatch({ type: "disconnected", random: 0 });
  await vi.advanceTimersByTimeAsync(2000);
  expect(loop.shown.problem).toBeNull();
  hear();
  expect(loop.isClosed).toBe(true);
  expect(loop.shown.problem).toBe(CLOSING.reason);
});
