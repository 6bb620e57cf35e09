import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EarlyFrames } from "../../../../../webapp/static/src/client/mesh/early-frames";
import { FIRST_SERVERLESS_GROUP } from "../../../../../webapp/static/src/protocol/mesh/serverless/last-round";
import type { GroupFrame, GroupOrder, PeerFrame } from "../../../../../webapp/static/src/protocol/wire/mesh";

const ANN = "0123456789abcdef";
const BOB = "1123456789abcdef";

const begin = (round: number, group: number): GroupFrame => ({
  type: "begin",
  round,
  group,
  weight: 1,
  commitments: [],
  key: new Uint8Array(),
});

const orderOf = (round: number, group: number): GroupOrder => ({
  type: "group",
  round,
  group,
  members: [ANN, BOB],
  bounds: [0, 10],
  exchange: "full",
  precision: "float32",
  subject: "changes",
  reducer: "mean",
  least: 2,
  most_weight: 8,
  patience: 2,
  quorum: 2,
  seconds: 60,
});

describe("frames of groups without an order", () => {
  let sent: [string, PeerFrame][] = [];
  let isDeclining = false;
  let early: EarlyFrames;

  beforeEach(() => {
    vi.useFakeTimers();
    sent = [];
    isDeclining = false;
    early = new EarlyFrames({
      send: (client, frame) => sent.push([client, frame]),
      declines: (_, group) => isDeclining && group >= FIRST_SERVERLESS_GROUP,
    });
  });

  afterEach(() => {
    early.close();
    vi.useRealTimers();
  });

  const givenUp = () => sent.map(([client, frame]) => [client, frame.type]);

  it("are answered at once by a peer that has the server, if the group is of the peers", () => {
    isDeclining = true;
    early.keep(ANN, begin(4, FIRST_SERVERLESS_GROUP + 7));
    early.keep(ANN, begin(4, 1024));
    expect(givenUp()).toEqual([[ANN, "give_up"]]);
  });

  it("are answered when the server is reached", () => {
    early.keep(ANN, begin(4, FIRST_SERVERLESS_GROUP + 7));
    early.keep(BOB, {
      type: "change",
      round: 4,
      group: FIRST_SERVERLESS_GROUP + 7,
      view: 1,
      held: [0, 0],
      parts: [],
      weights: [],
    });
    isDeclining = true;
    early.serverReached();
    expect(givenUp()).toEqual([[ANN, "give_up"]]);
  });

  it("are answered after the patience of the last group, if no order came", () => {
    early.join(orderOf(3, 1024));
    early.keep(ANN, begin(4, 1024));
    vi.advanceTimersByTime(1999);
    expect(sent).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(givenUp()).toEqual([[ANN, "give_up"]]);
    expect(early.take(4, 1024)).toEqual([]);
  });

  it("wait for an order that comes late", () => {
    early.join(orderOf(3, 1024));
    early.keep(ANN, begin(4, 1024));
    early.join(orderOf(4, 1024));
    vi.advanceTimersByTime(60_000);
    expect(sent).toEqual([]);
    expect(early.take(4, 1024).map(({ client }) => client)).toEqual([ANN]);
  });
});
