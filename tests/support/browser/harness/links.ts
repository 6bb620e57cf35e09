/**
 * One peer of a mesh in a page of its own. The test does what a task's server does: `carry` takes along what goes through it,
 * `hear` brings what comes.
 */

import { TrustStore } from "../../../../webapp/static/src/client/session/trust-store";
import {
  LinkManager,
  MOST_BUFFERED,
  type PeerMessage,
} from "../../../../webapp/static/src/client/transports/links";
import { fromHex, toHex } from "../../../../webapp/static/src/core/crypto/bytes";
import type { GroupOrder, NeighbourInfo, Way } from "../../../../webapp/static/src/protocol/wire/mesh";
import { type Averaged, Averaging } from "./calls/averaging";

type Carried = "signal" | "relay";
/** A member as the test writes it down: the identity in hexadecimal. */
type Written = Omit<NeighbourInfo, "identity"> & { readonly identity: string };

declare global {
  interface Window {
    carry: (to: string, what: Carried, hex: string) => Promise<void>;
    /** Begins as `client`; gives the identity, in hexadecimal. */
    begin: (task: string, client: string, ice: readonly RTCIceServer[]) => Promise<string>;
    members: (members: readonly Written[]) => void;
    hear: (from: string, what: Carried | "unreachable", hex: string) => void;
    wayTo: (client: string) => Way | null;
    told: string[];
    /** Seconds until `size` bytes of this peer are here, and whether they are the right ones. */
    fetchFrom: (client: string, size: number) => Promise<{ seconds: number; sound: boolean; waited: number }>;
    /** Averages what it draws with a group. */
    average: (order: GroupOrder, draw: number, weight: number) => Promise<Averaged>;
    measures: () => unknown;
    wake: () => void;
    leave: () => void;
  }
}

/** Bytes that both ends can make. */
function pattern(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(
    new Uint32Array(Math.ceil(size / 4)).map((_, i) => Math.imul(i, 2654435761)).buffer,
    0,
    size,
  );
}

const told: string[] = [];
window.told = told;
let links: LinkManager;
let averaging: Averaging;
let most = 0;
/** What is being fetched. */
let fetching: { readonly got: Uint8Array; filled: number; readonly done: () => void } | null = null;

/** The first eight digits of `weights` say how many bytes are wanted. */
async function give(client: string, weights: string): Promise<void> {
  const size = Number.parseInt(weights.slice(0, 8), 16);
  const bytes = pattern(size);
  for (let offset = 0; offset < size; ) {
    await links.drained(client, MOST_BUFFERED);
    const data = bytes.subarray(offset, offset + links.room(client));
    if (!links.send(client, { type: "weights", weights, size, offset, data }, true)) return;
    most = Math.max(most, links.buffered(client));
    offset += data.length;
  }
}

function take(frame: Extract<PeerMessage, { readonly type: "weights" }>): void {
  if (fetching === null) return;
  if (frame.offset !== fetching.filled) told.push(`out of order at ${frame.offset}`);
  fetching.got.set(frame.data, frame.offset);
  fetching.filled += frame.data.length;
  if (fetching.filled === frame.size) fetching.done();
}

window.begin = async (task, client, ice) => {
  const identities = new TrustStore();
  const identity = await identities.own();
  const carry = (what: Carried) => (to: string, data: Uint8Array) => {
    void window.carry(to, what, toHex(data));
    return true;
  };
  links = new LinkManager({
    task,
    client,
    identity,
    identities,
    ice,
    signal: carry("signal"),
    relay: carry("relay"),
    relayBuffered: () => 0,
    up: (other, way) => {
      told.push(`up ${other} ${way}`);
      averaging.up(other);
    },
    down: (other) => {
      told.push(`down ${other}`);
      averaging.down(other);
    },
    received: (other, frame) => {
      if (frame.type === "fetch") void give(other, frame.weights);
      else if (frame.type === "weights") take(frame);
      else if (frame.type === "say" || frame.type === "show") return;
      else if ("group" in frame && frame.type !== "group") averaging.heard(other, frame);
    },
    silent: (other) => {
      told.push(`silent ${other}`);
      averaging.silent(other);
    },
  });
  averaging = new Averaging(client, links);
  return toHex(identity.publicKey);
};

window.members = (members) =>
  links.setMembers(members.map((member) => ({ ...member, identity: fromHex(member.identity) })));

window.hear = (from, what, hex) => {
  if (what === "unreachable") links.unreachable(from);
  else if (what === "signal") links.signalled(from, fromHex(hex));
  else links.relayed(from, fromHex(hex));
};

window.wayTo = (client) => links.way(client);
window.average = (order, draw, weight) => averaging.average(order, draw, weight);
window.measures = () => ({ measures: links.measures, most });
window.wake = () => links.wake();
window.leave = () => links.close();

window.fetchFrom = async (client, size) => {
  const begun = performance.now();
  const got = new Uint8Array(size);
  const whole = new Promise<void>((done) => {
    fetching = { got, filled: 0, done };
  });
  const weights = size.toString(16).padStart(8, "0").padEnd(64, "0");
  links.send(client, { type: "fetch", weights, offset: 0 });
  await whole;
  const seconds = (performance.now() - begun) / 1000;
  const wanted = pattern(size);
  return { seconds, sound: got.every((byte, i) => byte === wanted[i]), waited: most };
};
