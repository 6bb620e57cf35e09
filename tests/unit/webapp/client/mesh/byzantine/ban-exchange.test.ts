import { readFileSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import { BanExchange } from "../../../../../../webapp/static/src/client/mesh/byzantine/ban-exchange";
import {
  BanStore,
  banFrame,
  type TellEvidence,
} from "../../../../../../webapp/static/src/client/mesh/byzantine/ban-store";
import { WeightTransfer } from "../../../../../../webapp/static/src/client/mesh/weight-transfer";
import type { EvidenceWorker } from "../../../../../../webapp/static/src/client/workers/evidence-worker";
import { type Bytes, fromHex, sha256, toHex } from "../../../../../../webapp/static/src/core/crypto/bytes";
import type { Conviction } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/evidence/conviction";
import { Mesh, type Peer } from "../../transports/mesh";
import { evidenceWorker } from "../workers";

interface Case {
  readonly hex: string;
  readonly convicts?: Conviction;
}

const golden = JSON.parse(readFileSync("tests/contract/vectors/evidence.json", "utf8")) as readonly Case[];
const guilty = golden.filter(({ convicts }) => convicts) as readonly Required<Case>[];
const [first] = guilty as [Required<Case>];
const { task, run } = first.convicts;
const NAMES = ["00000000000000aa", "00000000000000bb", "00000000000000cc"];

let mesh = new Mesh();
afterEach(() => mesh.close());

interface Member {
  readonly peer: Peer;
  readonly store: BanStore;
  readonly bans: BanExchange;
  readonly banned: Conviction[];
}

/** A store whose evidence a worker checks, as that of a page. */
function storeOf(worker: EvidenceWorker, ofRun = run): BanStore {
  return new BanStore("here", (evidence) => worker.convict(evidence, task, ofRun));
}

/** Members that are linked with each other. */
async function company(): Promise<readonly [Member, Member, Member]> {
  mesh = new Mesh();
  const worker = await evidenceWorker();
  const members: Member[] = [];
  for (const name of NAMES) {
    const peer = await mesh.add(name);
    const store = storeOf(worker);
    const fetching = new WeightTransfer(peer.links, store);
    const banned: Conviction[] = [];
    const bans = new BanExchange({
      task,
      run,
      store,
      links: peer.links,
      fetching,
      banned: (one) => banned.push(one),
    });
    peer.hear = (from, frame) => {
      if (frame.type === "fetch") void fetching.serve(from, frame);
      if (frame.type === "weights") fetching.takeChunk(from, frame);
      if (frame.type === "tell_evidence") void bans.received(from, frame);
    };
    members.push({ peer, store, bans, banned });
  }
  mesh.introduce();
  await until(() => {
    for (const { peer } of members) expect(peer.links.linked).toHaveLength(2);
  });
  return members as unknown as readonly [Member, Member, Member];
}

function until(holds: () => void): Promise<void> {
  return vi.waitFor(holds, { timeout: 240_000, interval: 20 });
}

async function told(evidence: Bytes, { identity }: Conviction): Promise<TellEvidence> {
  const [digest, size] = [await sha256(evidence), evidence.length];
  return { type: "tell_evidence", identity: fromHex(identity), digest, size, data: evidence };
}

test("evidence that convicts is kept and goes around", async () => {
  const [ann, bo, cy] = await company();
  await ann.bans.received(bo.peer.client, await told(fromHex(first.hex), first.convicts));
  await until(() => {
    for (const { banned } of [ann, bo, cy]) expect(banned).toEqual([first.convicts]);
  });
  expect(cy.store.isBanned(first.convicts.identity)).toBe(true);
});

test("the link to a member that evidence or a state bans ends", async () => {
  const [ann, bo, cy] = await company();
  ann.bans.cutOff([toHex(cy.peer.identity.publicKey)]);
  expect(ann.peer.links.linked).toEqual([bo.peer.client]);
  await ann.bans.received(bo.peer.client, await told(fromHex(first.hex), first.convicts));
  expect(ann.peer.links.linked).toEqual([bo.peer.client]);
});

test("a member that is linked later asks for the evidence", async () => {
  const [ann, bo] = await company();
  const ban = await ann.store.add(fromHex(first.hex));
  expect(ban && banFrame(ban, false).data).toHaveLength(0);
  ann.bans.up(bo.peer.client);
  await until(() => expect(bo.banned).toEqual([first.convicts]));
  expect(bo.store.find(ban?.sha256 ?? "")).toEqual(fromHex(first.hex));
});

test("altered evidence convicts nobody, is not passed on, and its sender is not heard after three", async () => {
  const [ann, bo, cy] = await company();
  const altered = fromHex(first.hex);
  altered[altered.length >> 1] = (altered[altered.length >> 1] as number) ^ 1;
  const lie = await told(altered, first.convicts);
  for (let time = 0; time < 3; time++) await ann.bans.received(bo.peer.client, lie);
  const truth = await told(fromHex(first.hex), first.convicts);
  await ann.bans.received(bo.peer.client, truth);
  expect(ann.banned).toEqual([]);
  expect(cy.peer.received.filter(({ frame }) => frame.type === "tell_evidence")).toEqual([]);
  await ann.bans.received(cy.peer.client, truth);
  expect(ann.banned).toEqual([first.convicts]);
});

test("evidence of another run, or too much of it, is not taken", async () => {
  const store = storeOf(await evidenceWorker(), "00".repeat(32));
  await expect(store.add(fromHex(first.hex))).rejects.toThrow("another task or run");
  expect(store.hasRoom(1 << 26)).toBe(true);
  expect(store.hasRoom((1 << 26) + 1)).toBe(false);
});
