import { afterEach, expect, test, vi } from "vitest";
import { toHex } from "../../../../../webapp/static/src/core/crypto/bytes";
import { encodeMesh, type PeerFrame } from "../../../../../webapp/static/src/protocol/wire/mesh";
import { Mesh, type Peer } from "./mesh";

const ANN = "00000000000000aa";
const BO = "00000000000000bb";
const CY = "00000000000000cc";

const mesh: Mesh[] = [];
afterEach(() => {
  for (const one of mesh.splice(0)) one.close();
});

async function meshOf(...clients: readonly string[]): Promise<[Mesh, ...Peer[]]> {
  const made = new Mesh();
  mesh.push(made);
  for (const client of clients) await made.add(client);
  made.introduce();
  return [made, ...made.peers];
}

const soon = <T>(check: () => T) => vi.waitFor(check, { timeout: 240_000, interval: 20 });
const linked = (one: Peer, other: Peer) =>
  soon(() => {
    expect(one.links.way(other.client)).toBe("relay");
    expect(other.links.way(one.client)).toBe("relay");
  });

function chunk(offset: number, data: Uint8Array): PeerFrame {
  return { type: "piece", round: 1, group: 0, part: 0, contributors: [0], offset, data };
}

test("two that can only be relayed are linked, and hear each other in order", async () => {
  const [, ann, bo] = (await meshOf(ANN, BO)) as [Mesh, Peer, Peer];
  await linked(ann, bo);
  const room = ann.links.room(BO);
  const data = new Uint8Array(room).fill(7);
  for (let i = 0; i < 40; i++) ann.links.send(BO, chunk(i * room, data), true);
  await soon(() => expect(bo.received.length).toBe(40));
  expect(bo.received.map(({ frame }) => frame.type === "piece" && frame.offset)).toEqual(
    Array.from({ length: 40 }, (_, i) => i * room),
  );
  expect(bo.received.every(({ from }) => from === ANN)).toBe(true);
});

test("the largest chunk fits what the server relays, and the server can read nothing of it", async () => {
  const [made, ann, bo] = (await meshOf(ANN, BO)) as [Mesh, Peer, Peer];
  await linked(ann, bo);
  const data = new Uint8Array(ann.links.room(BO)).fill(0x61);
  const frame: PeerFrame = {
    type: "piece",
    round: Number.MAX_SAFE_INTEGER,
    group: Number.MAX_SAFE_INTEGER,
    part: 31,
    contributors: Array.from({ length: 32 }, (_, place) => place),
    offset: Number.MAX_SAFE_INTEGER,
    data,
  };
  made.parcels.length = 0;
  ann.links.send(BO, frame, true);
  await soon(() => expect(bo.received.length).toBe(1));
  const largest = made.parcels.reduce((a, b) => (b.length > a.length ? b : a));
  expect(largest.length).toBeLessThanOrEqual(64 * 1024);
  expect(Buffer.from(largest).includes(Buffer.alloc(16, 0x61))).toBe(false);
  expect(largest.length).toBe(encodeMesh(frame).length + 16);
});

test("a parcel that was changed ends the link, and another is made", async () => {
  const [made, ann, bo] = (await meshOf(ANN, BO)) as [Mesh, Peer, Peer];
  await linked(ann, bo);
  let bent = 0;
  made.tamper = (parcel) => {
    if (bent++ > 0) return parcel;
    const changed = new Uint8Array(parcel);
    changed[0] = 1 ^ (changed[0] as number);
    return changed;
  };
  ann.links.send(BO, chunk(0, new Uint8Array(8)), true);
  await soon(() => expect(bo.told).toContain(`down ${ANN}`));
  expect(bo.received).toEqual([]);
  await soon(() => expect(bo.told.filter((word) => word === `up ${ANN} relay`).length).toBe(2));
  await linked(ann, bo);
});

test("who comes with another identity than before gets no link", async () => {
  const [made, ann, bo] = (await meshOf(ANN, BO)) as [Mesh, Peer, Peer];
  await linked(ann, bo);
  bo.links.close();
  made.peers.pop();
  const impostor = await made.add(BO);
  await soon(() => expect(ann.links.way(BO)).toBeNull());
  made.introduce();
  await soon(() => expect(ann.links.strangers).toEqual([BO]));
  expect(impostor.links.way(ANN)).toBeNull();
});

test("how long a frame takes is known after some beats", async () => {
  const [, ann, bo] = (await meshOf(ANN, BO)) as [Mesh, Peer, Peer];
  await linked(ann, bo);
  ann.links.patience(0.4);
  bo.links.patience(0.4);
  await soon(() => expect(ann.links.measures[0]?.seconds).toBeGreaterThan(0));
  expect(ann.links.measures).toMatchObject([{ client: BO, way: "relay" }]);
});

test("a silent peer is told of once within a group, and is up again when it is heard", async () => {
  const [made, ann, bo] = (await meshOf(ANN, BO)) as [Mesh, Peer, Peer];
  await linked(ann, bo);
  made.standStill();
  ann.links.patience(1);
  await soon(() => expect(ann.told).toContain(`silent ${BO}`));
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(ann.told.filter((word) => word === `silent ${BO}`).length).toBe(1);
  // The next group has to hear of it, too.
  ann.links.patience(1);
  await soon(() => expect(ann.told.filter((word) => word === `silent ${BO}`).length).toBe(2));
  made.goOn();
  await soon(() => expect(ann.told.at(-1)).toBe(`up ${BO} relay`));
  expect(ann.told).not.toContain(`down ${BO}`);
});

test("a peer hands a signal on to one that it is linked to", async () => {
  const [, ann, bo, cy] = (await meshOf(ANN, BO, CY)) as [Mesh, Peer, Peer, Peer];
  await linked(ann, bo);
  await linked(bo, cy);
  // What Cy makes of a signal that nobody signed shows nowhere; that Bo sent it on does.
  const before = bo.links.view.find(({ client }) => client === CY)?.sentBytes ?? 0;
  ann.links.send(BO, { type: "pass", client: CY, data: new Uint8Array(2000) });
  await soon(() => {
    const after = bo.links.view.find(({ client }) => client === CY)?.sentBytes ?? 0;
    expect(after - before).toBeGreaterThan(2000);
  });
});

test("garbage ends the link", async () => {
  const [, ann, bo] = (await meshOf(ANN, BO)) as [Mesh, Peer, Peer];
  await linked(ann, bo);
  bo.links.send(ANN, { type: "nonsense" } as unknown as PeerFrame);
  await soon(() => expect(ann.told).toContain(`down ${BO}`));
});

test("who leaves ends its links at once", async () => {
  const [, ann, bo] = (await meshOf(ANN, BO)) as [Mesh, Peer, Peer];
  await linked(ann, bo);
  ann.links.close();
  await soon(() => expect(bo.told).toContain(`down ${ANN}`));
});

test("the link of a banned key ends and none is made again", async () => {
  const [made, ann, bo, cy] = (await meshOf(ANN, BO, CY)) as [Mesh, Peer, Peer, Peer];
  await linked(ann, bo);
  await linked(ann, cy);
  ann.links.ban([toHex(bo.identity.publicKey)]);
  expect(ann.links.linked).toEqual([CY]);
  expect(ann.told).toContain(`down ${BO}`);
  await soon(() => expect(bo.links.way(ANN)).toBeNull());
  made.introduce();
  // It asks again, and gets no answer.
  const parcels = made.parcels.length;
  await soon(() => expect(made.parcels.length).toBeGreaterThan(parcels));
  expect(ann.links.linked).toEqual([CY]);
  expect(ann.told.filter((one) => one === `up ${BO} relay`)).toHaveLength(1);
});
