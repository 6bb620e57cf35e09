import { expect, test, vi } from "vitest";
import { Masker, type RoundTerms } from "../../../../../webapp/static/src/client/session/masking-host";
import { type IdentityStore, TrustStore } from "../../../../../webapp/static/src/client/session/trust-store";
import { MaskingWorker } from "../../../../../webapp/static/src/client/workers/masking-worker";
import type { ToMasker } from "../../../../../webapp/static/src/core/messages/masking";
import type { Train } from "../../../../../webapp/static/src/protocol/rounds/participant-events";
import type { ClientFrame } from "../../../../../webapp/static/src/protocol/wire/messages";

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
  parameters: 10,
  rows: 1,
  minimum: 0,
};

/** A shelf of a browser that keeps nothing. */
function none<T>(): IdentityStore<T> {
  const refuse = () => Promise.reject(new DOMException("Storage is off.", "InvalidStateError"));
  return { get: refuse, putFirst: refuse };
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

test("a round that is given up is declined, and again on every new connection until it is over", async () => {
  const said: ClientFrame[] = [];
  const gaveUp = vi.fn();
  const masker = new Masker({
    send: (frame) => said.push(frame),
    changed: () => undefined,
    gaveUp,
    identities: new TrustStore(none(), none()),
    spawn: () => new MaskingWorker(unable),
  });
  masker.plan(PLAN, HERE);
  const told = { update: new ArrayBuffer(40), examples: 1, loss: 1, sums: [[1, 1]] } as const;
  expect(await masker.mask(3, told)).toBeNull();
  expect(gaveUp).toHaveBeenCalledOnce();
  expect(masker.view).toMatchObject({ stage: "refused", reason: "X25519 is missing." });
  masker.welcomed();
  masker.plan({ ...PLAN, seconds: 12 }, HERE);
  const decline = { type: "decline", round: 3 };
  expect(said).toEqual([decline, decline]);
  masker.takeFrame({ type: "abandoned", round: 3, reason: "Too few." });
  masker.welcomed();
  expect(said).toHaveLength(2);
});
