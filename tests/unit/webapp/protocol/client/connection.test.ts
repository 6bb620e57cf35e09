import { describe, expect, test } from "vitest";
import {
  type ConnectedMachine,
  disconnectedPhase,
  dismiss,
  greet,
  leave,
  loseConnection,
  NO_CONNECTION,
  openConnection,
  sendWhenOpen,
  start,
} from "../../../../../webapp/static/src/protocol/client/connection";
import { step } from "../../../../../webapp/static/src/protocol/client/reducer";

const AWAY: ConnectedMachine = { connection: NO_CONNECTION, reason: null };
const OPENING = start(AWAY, {}).state;
const OPEN = openConnection(greet(OPENING, "hello").state);
const forget = (state: ConnectedMachine) => step(state, "forgotten");
const closing = (code: string) => ({ type: "closing", code, reason: "Because." }) as const;

/** The delays of so many attempts that fail one after the other. */
function delays(state: ConnectedMachine, attempts: number): number[] {
  const { state: next, effects } = loseConnection(state, 0.5);
  const [delay = Number.NaN] = effects.map((effect) => effect.delay);
  return attempts === 0 ? [] : [delay, ...delays(next, attempts - 1)];
}

describe("A client's contact with its server", () => {
  test("is tried at once, and then after delays that double up to half a minute", () => {
    expect(start(AWAY, {}).effects).toEqual([{ type: "connect", delay: 0 }]);
    expect(delays(OPENING, 9)).toEqual([0.5, 1, 2, 4, 8, 16, 30, 30, 30]);
  });

  test("begins to count anew with an open connection", () => {
    const lost = loseConnection(loseConnection(OPENING, 0).state, 0).state;
    expect(delays(openConnection(greet(lost, "hello").state), 1)).toEqual([0.5]);
  });

  test("is kept away for longer by a server that closed it, except after idleness", () => {
    expect(delays(dismiss(OPEN, closing("too-fast"), forget).state, 1)).toEqual([8]);
    expect(delays(dismiss(OPEN, closing("idle"), forget).state, 1)).toEqual([0.5]);
  });

  test.each(["replaced", "unfit", "removed", "banned", "closed"])("ends for good after %s", (code) => {
    const { state, effects } = dismiss(OPEN, closing(code), forget);
    expect(effects).toEqual([{ type: "close" }, "forgotten"]);
    expect([disconnectedPhase(state.connection), state.reason]).toEqual(["stopped", "Because."]);
    expect(loseConnection(state, 0).effects).toEqual([]);
  });

  test("ends by choice with a farewell where somebody hears it", () => {
    expect(leave(OPEN).effects).toEqual([{ type: "send", frame: { type: "leave" } }, { type: "close" }]);
    expect(leave(OPENING).effects).toEqual([{ type: "close" }]);
    expect(leave(AWAY)).toEqual(step(AWAY));
  });

  test("carries frames only while it is open", () => {
    expect(sendWhenOpen(OPEN, "ready").effects).toEqual([{ type: "send", frame: "ready" }]);
    expect(sendWhenOpen(loseConnection(OPEN, 0).state, "ready").effects).toEqual([]);
  });
});
