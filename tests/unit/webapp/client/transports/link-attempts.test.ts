/** Attempts at links that both ends begin before they hear of each other's. */

import { expect, test, vi } from "vitest";
import { LinkAttempts } from "../../../../../webapp/static/src/client/transports/link-attempts";
import type { LinkContext } from "../../../../../webapp/static/src/client/transports/link-context";
import { toHex } from "../../../../../webapp/static/src/core/crypto/bytes";
import { type Identity, makeIdentity } from "../../../../../webapp/static/src/core/crypto/keys";
import { readSignal } from "../../../../../webapp/static/src/protocol/mesh/signals";

const TASK = "digits";
/** The smaller id. */
const ANN = "00000000000000aa";
const BO = "00000000000000bb";
/** By then each end begins by itself, in seconds. */
const LATER = 10;

const identity = () => makeIdentity((count) => crypto.getRandomValues(new Uint8Array(count)));
const ignore = () => undefined;
const soon = (check: () => void) => vi.waitFor(check, { timeout: 60_000, interval: 5 });

/** One end, with its signals and parcels to the other one. */
interface End {
  readonly attempts: LinkAttempts;
  readonly signals: Uint8Array[];
  readonly parcels: Uint8Array[];
}

function end(own: string, other: string, me: Identity, key: Uint8Array): End {
  const signals: Uint8Array[] = [];
  const parcels: Uint8Array[] = [];
  const around: LinkContext = {
    task: TASK,
    own,
    identity: me,
    configuration: {},
    carry: (_client, signal) => signals.push(signal),
    relay: (_client, parcel) => parcels.push(parcel),
    relayBuffered: () => 0,
    patience: () => null,
    now: () => 0,
    up: ignore,
    down: ignore,
    received: ignore,
    silent: ignore,
    drained: ignore,
  };
  const attempts = new LinkAttempts({ client: other, key, possible: new Set(["relay"]) }, around, {
    inUse: () => null,
    changed: ignore,
    received: ignore,
    drained: ignore,
    greeting: () => new Uint8Array(1),
  });
  return { attempts, signals, parcels };
}

test("when both ends began, the attempt of the smaller id becomes the link", async () => {
  const [ofAnn, ofBo] = [await identity(), await identity()];
  const ann = end(ANN, BO, ofAnn, ofBo.publicKey);
  const bo = end(BO, ANN, ofBo, ofAnn.publicKey);
  ann.attempts.go(LATER);
  bo.attempts.go(LATER);
  await soon(() => expect([ann.signals.length, bo.signals.length]).toEqual([1, 1]));
  const first = ann.signals[0] as Uint8Array;
  const begun = await readSignal(ofAnn.publicKey, { task: TASK, from: ANN, to: BO }, first);

  await soon(() => {
    for (const signal of ann.signals.splice(0)) bo.attempts.signalled(signal);
    for (const signal of bo.signals.splice(0)) ann.attempts.signalled(signal);
    for (const parcel of ann.parcels.splice(0)) bo.attempts.relayed(parcel);
    for (const parcel of bo.parcels.splice(0)) ann.attempts.relayed(parcel);
    expect(ann.attempts.best).not.toBeNull();
    expect(bo.attempts.best).not.toBeNull();
  });
  const sessions = [ann, bo].map(({ attempts }) => toHex(attempts.best?.session ?? new Uint8Array()));
  expect(sessions).toEqual(Array(2).fill(toHex(begun?.session ?? new Uint8Array())));
});
