import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ServerWatch } from "../../../../../webapp/static/src/client/transports/server-watch";

let asked = 0;
let vanished = 0;
let buffered = 0;
let watch: ServerWatch;

const socket = {
  get bufferedAmount(): number {
    return buffered;
  },
  send(frame: Uint8Array) {
    expect(frame).toHaveLength(0);
    asked += 1;
  },
};

beforeEach(() => {
  vi.useFakeTimers();
  [asked, vanished, buffered] = [0, 0, 0];
  watch = new ServerWatch(socket as unknown as WebSocket, () => {
    vanished += 1;
  });
});

afterEach(() => {
  vi.useRealTimers();
});

test("a server that does not open the socket has vanished", () => {
  vi.advanceTimersByTime(19_000);
  expect(vanished).toBe(0);
  vi.advanceTimersByTime(2_000);
  expect([asked, vanished]).toEqual([0, 1]);
});

test("a server that is silent is asked, and has vanished if it does not answer", () => {
  watch.heard();
  vi.advanceTimersByTime(21_000);
  expect([asked, vanished]).toEqual([1, 0]);
  vi.advanceTimersByTime(20_000);
  expect([asked, vanished]).toEqual([1, 1]);
  vi.advanceTimersByTime(100_000);
  expect([asked, vanished]).toEqual([1, 1]);
});

test("a server that answers is asked again after the next silence only", () => {
  watch.heard();
  vi.advanceTimersByTime(30_000);
  watch.heard();
  vi.advanceTimersByTime(19_000);
  expect([asked, vanished]).toEqual([1, 0]);
  vi.advanceTimersByTime(2_000);
  expect([asked, vanished]).toEqual([2, 0]);
});

test("a server from which something arrives is not asked", () => {
  watch.heard();
  for (let second = 0; second < 100; second += 1) {
    vi.advanceTimersByTime(1_000);
    watch.heard();
  }
  expect([asked, vanished]).toEqual([0, 0]);
});

test("while an update is leaving through a slow line, the answer may take longer", () => {
  watch.heard();
  buffered = 1_000_000;
  vi.advanceTimersByTime(21_000);
  for (const left of [600_000, 200_000, 0]) {
    buffered = left;
    vi.advanceTimersByTime(20_000);
    expect([asked, vanished]).toEqual([1, 0]);
  }
  vi.advanceTimersByTime(20_000);
  expect([asked, vanished]).toEqual([1, 1]);
});

test("an update that does not leave is no sign of life", () => {
  watch.heard();
  buffered = 1_000_000;
  vi.advanceTimersByTime(41_000);
  expect([asked, vanished]).toEqual([1, 1]);
});

test("nobody is asked once the socket is closed", () => {
  watch.heard();
  watch.end();
  vi.advanceTimersByTime(100_000);
  expect([asked, vanished]).toEqual([0, 0]);
});
