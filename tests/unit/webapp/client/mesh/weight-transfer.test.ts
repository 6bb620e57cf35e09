import { afterEach, describe, expect, test, vi } from "vitest";
import { WeightCache } from "../../../../../webapp/static/src/client/mesh/weight-store";
import { WeightTransfer } from "../../../../../webapp/static/src/client/mesh/weight-transfer";
import type { LinkManager } from "../../../../../webapp/static/src/client/transports/links";
import { type Bytes, sha256, toHex } from "../../../../../webapp/static/src/core/crypto/bytes";
import type { PeerFrame } from "../../../../../webapp/static/src/protocol/wire/mesh";
import { Mesh, type Peer } from "../transports/mesh";

const ANN = "00000000000000aa";
const BO = "00000000000000bb";
const CY = "00000000000000cc";
const SIZE = 400_000;
const WEIGHTS: Bytes = Uint8Array.from({ length: SIZE }, (_, i) => (i * 31) % 251);

const meshes: Mesh[] = [];
afterEach(() => {
  for (const one of meshes.splice(0)) one.close();
});

interface Member {
  readonly peer: Peer;
  readonly holdings: WeightCache;
  readonly fetching: WeightTransfer;
}

/** Peers that are linked with each other and hand weights on. */
async function company(...clients: readonly string[]): Promise<readonly Member[]> {
  const mesh = new Mesh();
  meshes.push(mesh);
  const members: Member[] = [];
  for (const client of clients) {
    const peer = await mesh.add(client);
    const holdings = new WeightCache();
    members.push({ peer, holdings, fetching: new WeightTransfer(peer.links, holdings) });
  }
  for (const { peer, fetching } of members) {
    peer.hear = (from, frame) => {
      if (frame.type === "fetch") void fetching.serve(from, frame);
      if (frame.type === "weights") fetching.takeChunk(from, frame);
    };
    peer.lost = (from) => fetching.lost(from);
  }
  mesh.introduce();
  await vi.waitFor(
    () => {
      for (const { peer } of members)
        expect(peer.links.measures.map(({ client }) => client).length).toBe(clients.length - 1);
    },
    { timeout: 240_000, interval: 20 },
  );
  return members;
}

test("a newcomer gets the weights from who has them", async () => {
  const [ann, bo] = (await company(ANN, BO)) as [Member, Member];
  const hash = await bo.holdings.keep(WEIGHTS);
  expect(await ann.fetching.fetch(hash, SIZE, [BO])).toEqual(WEIGHTS);
});

test("who does not have them is passed over", async () => {
  const [ann, , cy] = (await company(ANN, BO, CY)) as [Member, Member, Member];
  const hash = await cy.holdings.keep(WEIGHTS);
  expect(await ann.fetching.fetch(hash, SIZE, [BO, CY])).toEqual(WEIGHTS);
  expect(await ann.fetching.fetch("0".repeat(64), SIZE, [BO, CY])).toBeNull();
});

test("weights of another length are not taken", async () => {
  const [ann, bo] = (await company(ANN, BO)) as [Member, Member];
  const hash = await bo.holdings.keep(WEIGHTS);
  expect(await ann.fetching.fetch(hash, SIZE - 4, [BO])).toBeNull();
});

test("when one goes away in the middle, the next sends the rest", async () => {
  const [ann, bo, cy] = (await company(ANN, BO, CY)) as [Member, Member, Member];
  const hash = await bo.holdings.keep(WEIGHTS);
  await cy.holdings.keep(WEIGHTS);
  let chunks = 0;
  const hear = ann.peer.hear;
  ann.peer.hear = (from, frame) => {
    hear(from, frame);
    if (from === BO && frame.type === "weights" && ++chunks === 2) bo.peer.links.close();
    if (from === CY && frame.type === "weights") expect(frame.offset).toBeGreaterThan(0);
  };
  expect(await ann.fetching.fetch(hash, SIZE, [BO, CY])).toEqual(WEIGHTS);
});

describe("a liar that is asked first", () => {
  const HALF = SIZE / 2;
  const chunk = (offset: number, data: Bytes, weights: string) =>
    ({ type: "weights", weights, size: SIZE, offset, data }) as const;

  /** Whether a fetch gets the weights from CY, which has them, after BO, which does `lie` when asked, and `wait` then. */
  async function fetched(
    lie: (fetching: WeightTransfer, hash: string, offset: number) => void,
    wait: (fetching: WeightTransfer, hash: string) => void = () => undefined,
  ): Promise<boolean> {
    const hash = toHex(await sha256(WEIGHTS));
    const send = (client: string, frame: PeerFrame): boolean => {
      if (frame.type !== "fetch") return false;
      queueMicrotask(() => {
        if (client === BO) lie(fetching, hash, frame.offset);
        else fetching.takeChunk(CY, chunk(frame.offset, WEIGHTS.slice(frame.offset), hash));
      });
      return true;
    };
    const fetching = new WeightTransfer({ send } as unknown as LinkManager, new WeightCache());
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let has: boolean | null = null;
    void fetching.fetch(hash, SIZE, [BO, CY]).then((bytes) => {
      has = bytes !== null;
    });
    while (has === null) {
      await new Promise((resolve) => setImmediate(resolve));
      wait(fetching, hash);
      await vi.advanceTimersByTimeAsync(1000);
    }
    return has;
  }

  afterEach(() => {
    vi.useRealTimers();
  });

  test("does not spoil what the next one sends by wrong bytes", async () => {
    const got = await fetched((fetching, hash) =>
      fetching.takeChunk(BO, chunk(0, new Uint8Array(HALF), hash)),
    );
    expect(got).toBe(true);
  });

  test.each([
    ["nothing", new Uint8Array()],
    ["what came already", WEIGHTS.slice(0, HALF)],
  ])("holds up nobody by sending %s", async (_, data) => {
    const got = await fetched(
      (fetching, hash) => fetching.takeChunk(BO, chunk(0, WEIGHTS.slice(0, HALF), hash)),
      (fetching, hash) => fetching.takeChunk(BO, chunk(0, data, hash)),
    );
    expect(got).toBe(true);
  });

  test("holds up nobody by sending a byte now and then", async () => {
    let sent = 0;
    const drip = (fetching: WeightTransfer, hash: string) => {
      fetching.takeChunk(BO, chunk(sent, WEIGHTS.slice(sent, sent + 1), hash));
      sent += 1;
    };
    expect(await fetched(drip, drip)).toBe(true);
    expect(sent).toBeGreaterThan(10);
  });
});

test("who asks anew is sent nothing more of what it asked for before", async () => {
  const holdings = new WeightCache();
  const [before, now] = [await holdings.keep(WEIGHTS), await holdings.keep(WEIGHTS.slice(4))];
  const sent: string[] = [];
  const slow: (() => void)[] = [];
  const links = {
    room: () => 100_000,
    send: (_: string, frame: PeerFrame) => sent.push(frame.type === "weights" ? frame.weights : "") > 0,
    drained: () => new Promise<void>((resolve) => slow.push(resolve)),
  };
  const fetching = new WeightTransfer(links as unknown as LinkManager, holdings);
  const asked: Promise<void>[] = [];
  for (const weights of [before, now]) {
    asked.push(fetching.serve(ANN, { type: "fetch", weights, offset: 0 }));
    await vi.waitUntil(() => sent.at(-1) === weights);
  }
  expect(sent).toEqual([before, now]);
  const drain = setInterval(() => {
    for (const resolve of slow.splice(0)) resolve();
  });
  await Promise.all(asked);
  clearInterval(drain);
  expect(sent).toEqual([before, now, now, now, now]);
});

test("who asks again and again has one answer read at a time", async () => {
  const read: ((bytes: Bytes | null) => void)[] = [];
  const sent: PeerFrame[] = [];
  const links = { send: (_: string, frame: PeerFrame) => sent.push(frame) > 0 };
  const find = () => new Promise<Bytes | null>((resolve) => read.push(resolve));
  const fetching = new WeightTransfer(links as unknown as LinkManager, { find });
  const weights = "0".repeat(64);
  const ask = () => fetching.serve(ANN, { type: "fetch", weights, offset: 0 });
  const asked = [ask()];
  await vi.waitUntil(() => read.length > 0);
  asked.push(...Array.from({ length: 100 }, ask));
  for (const count of [1, 2]) {
    await new Promise((resolve) => setImmediate(resolve));
    expect(read).toHaveLength(count);
    read.at(-1)?.(null);
  }
  await Promise.all(asked);
  expect(sent).toHaveLength(1);
});

test("what cannot be read is missing, and later requests are answered", async () => {
  const sent: PeerFrame[] = [];
  const links = {
    room: () => SIZE,
    send: (_: string, frame: PeerFrame) => sent.push(frame) > 0,
    drained: async () => undefined,
  };
  const found = [Promise.reject(new Error("The storage is gone.")), Promise.resolve(WEIGHTS)];
  const find = () => found.shift() ?? null;
  const fetching = new WeightTransfer(links as unknown as LinkManager, { find });
  const weights = "0".repeat(64);
  for (let i = 0; i < 2; i++) await fetching.serve(ANN, { type: "fetch", weights, offset: 0 });
  expect(sent.map((frame) => (frame.type === "weights" ? frame.size : null))).toEqual([0, SIZE]);
});

test("only the last weights are held", async () => {
  const holdings = new WeightCache();
  const hashes = [];
  for (let i = 0; i < 3; i++) hashes.push(await holdings.keep(Uint8Array.of(i)));
  expect(hashes.map((hash) => holdings.find(hash)?.[0] ?? null)).toEqual([null, 1, 2]);
});
