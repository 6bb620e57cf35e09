import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fromHex, toHex } from "../../../../../webapp/static/src/core/crypto/bytes";
import {
  readSignal,
  type SignalBody,
  writeSignal,
} from "../../../../../webapp/static/src/protocol/mesh/signals";

interface Golden {
  readonly task: string;
  readonly peers: readonly {
    readonly client: string;
    readonly identity: string;
    readonly identity_private: string;
  }[];
  readonly signals: readonly {
    readonly name: string;
    readonly session: string;
    readonly kind: string;
    readonly note: string;
  }[];
}

const golden = JSON.parse(readFileSync("tests/contract/vectors/sealed_link.json", "utf8")) as Golden;
const keyOf = (client: string) => {
  const peer = golden.peers.find((one) => one.client === client);
  return { publicKey: fromHex(peer?.identity ?? ""), privateKey: fromHex(peer?.identity_private ?? "") };
};

/** The first peer signs for the second. */
const [sender = "", receiver = ""] = golden.peers.map(({ client }) => client);

describe.each(golden.signals)("Python's signal: $name", ({ session, kind, note }) => {
  const route = { task: golden.task, from: sender, to: receiver };
  const read = (changed: Partial<typeof route>, data = fromHex(note)) =>
    readSignal(keyOf(sender).publicKey, { ...route, ...changed }, data);

  test("is read, and written again the same", async () => {
    const signal = await read({});
    expect(signal?.body.kind).toBe(kind);
    expect(toHex(signal?.session ?? new Uint8Array())).toBe(session);
    if (signal === null) throw new Error("The signal was refused.");
    expect(toHex(await writeSignal(keyOf(sender), route, signal))).toBe(note);
  });

  test("is refused for another task, receiver or sender, and changed in a byte", async () => {
    expect(await read({ task: "other" })).toBeNull();
    expect(await read({ to: sender })).toBeNull();
    expect(await read({ from: receiver })).toBeNull();
    const bent = fromHex(note);
    bent[bent.length - 1] = 1 ^ (bent.at(-1) as number);
    expect(await read({}, bent)).toBeNull();
    expect(await read({}, fromHex(note).slice(0, -1))).toBeNull();
  });
});

test("a candidate that leaves out what it may is read with nulls", async () => {
  const route = { task: "t", from: sender, to: receiver };
  const said = { kind: "candidate", body: { candidate: "candidate:1 1 UDP 1 192.0.2.1 9 typ host" } };
  const data = await writeSignal(keyOf(sender), route, {
    session: new Uint8Array(16),
    body: said as unknown as SignalBody,
  });
  const signal = await readSignal(keyOf(sender).publicKey, route, data);
  expect(signal?.body.body).toEqual({ ...said.body, sdpMid: null, sdpMLineIndex: null });
});
