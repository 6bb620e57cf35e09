import { expect, test, vi } from "vitest";
import { Masker, type RoundTerms } from "../../../../../webapp/static/src/client/session/masking-host";
import {
  type RunStore,
  type Runs,
  SpentVersions,
} from "../../../../../webapp/static/src/client/session/spent-versions";
import { type IdentityStore, TrustStore } from "../../../../../webapp/static/src/client/session/trust-store";
import { MaskingWorker } from "../../../../../webapp/static/src/client/workers/masking-worker";
import type { Keys, ToMasker } from "../../../../../webapp/static/src/core/messages/masking";
import { inEnglish } from "../../../../../webapp/static/src/core/user-messages";
import type { Train } from "../../../../../webapp/static/src/protocol/rounds/participant-events";
import type { Stage } from "../../../../../webapp/static/src/protocol/secagg/member";
import type { ClientFrame, FrameOf } from "../../../../../webapp/static/src/protocol/wire/messages";

const HASH = "a".repeat(64);
const PLAN: Train = {
  type: "train",
  round: 3,
  version: 2,
  weights: HASH,
  epochs: 1,
  steps: 0,
  batch_size: 32,
  learning_rate: 0.1,
  past_steps: 0,
  seed: 7,
  proximal_mu: 0,
  control: null,
  masking: { bits: 32, clip: 1, examples: 64, noise: 0, share: 1, min_clients: 3, server: "honest" },
  privacy: null,
  shards: [{ sha256: HASH, examples: 64 }],
  seconds: 30,
};
const HERE: RoundTerms = {
  client: "0123456789abcdef",
  task: "digits",
  bundle: HASH,
  address: "wss://example.org/api/tasks/digits/socket",
  run: HASH,
  parameters: 10,
  rows: 1,
  minimum: 0,
};

/** A shelf of a browser that keeps nothing. */
function none<T>(): IdentityStore<T> {
  const refuse = () => Promise.reject(new DOMException("Storage is off.", "InvalidStateError"));
  return { get: refuse, putFirst: refuse };
}

/** A storage of spent versions that lasts as long as the test. */
function memory(): RunStore {
  const kept = new Map<string, Runs>();
  return {
    update: async (task, change) => {
      kept.set(task, change(kept.get(task)));
    },
  };
}

/** The worker's thread in a browser that lacks what it needs. */
function unable(): Worker {
  const thread = {
    onmessage: (_message: { data: unknown }): void => undefined,
    postMessage: ({ id }: ToMasker): void => {
      queueMicrotask(() => thread.onmessage({ data: { type: "failed", id, problem: "X25519 is missing." } }));
    },
    terminate: (): void => undefined,
  };
  return thread as unknown as Worker;
}

/** The worker's thread of a device that does all that it is asked. */
function able(asked: ToMasker[]): Worker {
  const answers: Record<ToMasker["type"], object> = {
    make_keys: { type: "keys_made" },
    check_roster: { type: "roster_checked", order: [0, 1, 2], wrong: [] },
    seal: { type: "shares_sealed", sealed: [bytes(80, 1), bytes(80, 2)] },
    open: { type: "shares_opened", unopened: [] },
    expand: { type: "expanded" },
    mask: { type: "masked", bytes: bytes(40, 0), left: null },
    sign_survivors: { type: "survivors_signed", signature: bytes(64, 1) },
    check_vouchers: { type: "vouchers_checked", wrong: [] },
    make_reveal: { type: "revealed", shares: [bytes(32, 1), bytes(32, 2), bytes(32, 3)] },
  };
  const thread = {
    onmessage: (_message: { data: unknown }): void => undefined,
    postMessage: (message: ToMasker): void => {
      asked.push(message);
      const keys = message.type === "make_keys" ? { keys: keysOf(0, message.terms.round) } : {};
      queueMicrotask(() => thread.onmessage({ data: { ...answers[message.type], ...keys, id: message.id } }));
    },
    terminate: (): void => undefined,
  };
  return thread as unknown as Worker;
}

function bytes(length: number, value: number): Uint8Array {
  return new Uint8Array(length).fill(value);
}

function keysOf(client: number, round: number): Keys {
  const [mask_key, share_key, seed_hash, identity] = [1, 2, 3, 4].map((kind) =>
    bytes(32, 16 * client + kind),
  );
  const signature = bytes(64, 16 * client + 5);
  return { type: "keys", round, mask_key, share_key, seed_hash, identity, signature } as Keys;
}

function rosterOf(round: number): FrameOf<"roster"> {
  const members = [HERE.client, "1".repeat(16), "2".repeat(16)].map((client, place) => {
    const { type: _type, round: _round, ...keys } = keysOf(place, round);
    return { client, ...keys };
  });
  return { type: "roster", round, members };
}

/** Waits until the masker is in this stage. */
async function reached(masker: Masker, stage: Stage): Promise<void> {
  await vi.waitFor(() => expect(masker.view?.stage).toBe(stage));
}

/** A browser's masker over a storage of spent versions, with what it says and what its worker is asked. */
function device(spentVersions: SpentVersions) {
  const said: ClientFrame[] = [];
  const asked: ToMasker[] = [];
  const masker = new Masker({
    send: (frame) => said.push(frame),
    changed: () => undefined,
    gaveUp: () => undefined,
    identities: new TrustStore(none(), none()),
    spentVersions,
    spawn: () => new MaskingWorker(() => able(asked)),
  });
  return { masker, said, asked };
}

/** Has round 3 played until an update may be masked. */
async function mask(masker: Masker): Promise<void> {
  masker.plan(PLAN, HERE);
  await reached(masker, "roster");
  masker.takeFrame(rosterOf(3));
  await reached(masker, "dealing");
  masker.takeFrame({ type: "dealt", round: 3, senders: [1, 2], sealed: [bytes(80, 1), bytes(80, 2)] });
  await reached(masker, "masked");
}

const UNMASK = { type: "unmask", round: 3, alive: [0, 1, 2], vouchers: [], signatures: [] } as const;

/** Has round 3 played until the server asks for shares. */
async function unmask(masker: Masker): Promise<void> {
  await mask(masker);
  masker.takeFrame(UNMASK);
}

test("shares are revealed for a version once, also after the page was opened again", async () => {
  const store = memory();
  const first = device(new SpentVersions(store));
  await unmask(first.masker);
  await reached(first.masker, "revealed");
  expect(first.said.map(({ type }) => type)).toEqual(["keys", "shares", "reveal"]);
  first.masker.takeFrame({ type: "abandoned", round: 3, reason: "Too few." });
  first.masker.plan({ ...PLAN, round: 4 }, HERE);
  await reached(first.masker, "refused");
  expect(first.said.at(-1)).toEqual({ type: "decline", round: 4, spent: true });
  expect(inEnglish(first.masker.view?.reason ?? "")).toContain("was summed before");
  const second = device(new SpentVersions(store));
  second.masker.plan({ ...PLAN, round: 5, version: 1, seed: 9 }, HERE);
  await reached(second.masker, "refused");
  expect(second.said).toEqual([{ type: "decline", round: 5, spent: true }]);
  second.masker.plan({ ...PLAN, round: 6, version: 3 }, HERE);
  await reached(second.masker, "roster");
  expect(second.said.at(-1)?.type).toBe("keys");
});

test("of two pages in rounds of one version, one reveals", async () => {
  const store = memory();
  const pages = [device(new SpentVersions(store)), device(new SpentVersions(store))] as const;
  for (const { masker } of pages) await mask(masker);
  for (const { masker } of pages) masker.takeFrame(UNMASK);
  await vi.waitFor(() => {
    const ends = pages.map(({ said }) => said.at(-1)?.type);
    expect(ends.sort()).toEqual(["decline", "reveal"]);
  });
});

test("a browser that cannot store what it revealed reveals nothing", async () => {
  const { update } = memory();
  const full = vi.fn(update).mockImplementationOnce(update).mockRejectedValueOnce(new DOMException("Full."));
  const { masker, said, asked } = device(new SpentVersions({ update: full }));
  await unmask(masker);
  await reached(masker, "refused");
  expect(said.map(({ type }) => type)).toEqual(["keys", "shares", "decline"]);
  expect(asked.map(({ type }) => type)).not.toContain("make_reveal");
});

test("a browser without storage takes no part in masked rounds", async () => {
  const refuse = () => Promise.reject(new DOMException("Storage is off.", "InvalidStateError"));
  const { masker, said } = device(new SpentVersions({ update: refuse }));
  masker.plan(PLAN, HERE);
  await reached(masker, "refused");
  expect(said).toEqual([{ type: "decline", round: 3, spent: false }]);
  expect(masker.view?.reason).toContain("Allow this site to store data");
});

test("a round that is given up is declined, and again on every new connection until it is over", async () => {
  const said: ClientFrame[] = [];
  const gaveUp = vi.fn();
  const masker = new Masker({
    send: (frame) => said.push(frame),
    changed: () => undefined,
    gaveUp,
    identities: new TrustStore(none(), none()),
    spentVersions: new SpentVersions(memory()),
    spawn: () => new MaskingWorker(unable),
  });
  masker.plan(PLAN, HERE);
  const told = { update: new ArrayBuffer(40), examples: 1, loss: 1, sums: [[1, 1]] } as const;
  expect(await masker.mask(3, told)).toBeNull();
  expect(gaveUp).toHaveBeenCalledOnce();
  expect(masker.view).toMatchObject({ stage: "refused", reason: "X25519 is missing." });
  masker.welcomed();
  masker.plan({ ...PLAN, seconds: 12 }, HERE);
  const decline = { type: "decline", round: 3, spent: false };
  expect(said).toEqual([decline, decline]);
  masker.takeFrame({ type: "abandoned", round: 3, reason: "Too few." });
  masker.welcomed();
  expect(said).toHaveLength(2);
});
