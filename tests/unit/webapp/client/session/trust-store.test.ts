import { describe, expect, test } from "vitest";
import { type IdentityStore, TrustStore } from "../../../../../webapp/static/src/client/session/trust-store";
import type { Identity } from "../../../../../webapp/static/src/core/crypto/keys";
import type { Member } from "../../../../../webapp/static/src/core/messages/masking";

/** Keeps things as long as the test runs. */
function shelf<T>(): IdentityStore<T> {
  const things = new Map<string, T>();
  return {
    get: async (name) => things.get(name),
    putFirst: async (name, thing) => {
      const kept = things.get(name) ?? thing;
      things.set(name, kept);
      return kept;
    },
  };
}

/** A browser that keeps nothing. */
function none<T>(): IdentityStore<T> {
  const refuse = () => Promise.reject(new DOMException("Storage is off.", "InvalidStateError"));
  return { get: refuse, putFirst: refuse };
}

function member(client: string, identity: number): Member {
  const key = new Uint8Array(32).fill(identity);
  const signature = new Uint8Array(64);
  return { client, mask_key: key, share_key: key, seed_hash: key, identity: key, signature };
}

describe.each([
  ["that keeps things", shelf],
  ["that keeps nothing", none],
])("in a browser %s", (_, made) => {
  test("the own identity stays the same", async () => {
    const identities = new TrustStore(made<Identity>(), made<Uint8Array>());
    const [first, again] = [await identities.own(), await identities.own()];
    expect(again.publicKey).toEqual(first.publicKey);
  });

  test("who was met is known again, and known to have changed", async () => {
    const identities = new TrustStore(made<Identity>(), made<Uint8Array>());
    const roster = [member("me", 1), member("ann", 2), member("bo", 3)];
    expect(await identities.compare(roster, "me")).toEqual({ changed: [], met: [] });
    await identities.remember(roster);
    const next = [member("me", 1), member("ann", 2), member("bo", 4), member("cy", 5)];
    expect(await identities.compare(next, "me")).toEqual({ changed: [2], met: [1] });
  });
});

test("what was kept is known on the next visit", async () => {
  const [own, others] = [shelf<Identity>(), shelf<Uint8Array>()];
  const before = new TrustStore(own, others);
  await before.remember([member("ann", 2)]);
  const { publicKey } = await before.own();
  const after = new TrustStore(own, others);
  expect((await after.own()).publicKey).toEqual(publicKey);
  expect(await after.compare([member("ann", 9)], "me")).toEqual({ changed: [0], met: [] });
});

test("two windows that begin at once have one identity", async () => {
  const own = shelf<Identity>();
  const windows = [new TrustStore(own, shelf<Uint8Array>()), new TrustStore(own, shelf<Uint8Array>())];
  const [one, other] = await Promise.all(windows.map((identities) => identities.own()));
  expect(one?.publicKey).toEqual(other?.publicKey);
});
