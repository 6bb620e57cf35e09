/** Whole rounds of real secrets, without machines and sockets: what the server of a masked round can do with them. */

import { beforeAll, describe, expect, test } from "vitest";
import { type Bytes, sha256 } from "../../../../../webapp/static/src/core/crypto/bytes";
import {
  baseHash,
  contextHash,
  type MaskingTerms,
  rosterHash,
} from "../../../../../webapp/static/src/core/crypto/context";
import { type Identity, keyPair, makeIdentity } from "../../../../../webapp/static/src/core/crypto/keys";
import { addMasks } from "../../../../../webapp/static/src/core/crypto/keystream";
import { masksOf } from "../../../../../webapp/static/src/core/crypto/masking";
import { unseal } from "../../../../../webapp/static/src/core/crypto/sealing";
import type { Keys, Member } from "../../../../../webapp/static/src/core/messages/masking";
import { encodingOf } from "../../../../../webapp/static/src/core/numerics/masking/encoding";
import { RoundSecrets } from "../../../../../webapp/static/src/workers/masking/secrets";
import { expand, maskUpdate, shareUpdate } from "../../../../../webapp/static/src/workers/masking/update";
import { recover } from "../../core/crypto/lagrange";

const CLIENTS = ["0a", "1b", "2c", "3d"];
const THRESHOLD = 3;
const TERMS: MaskingTerms = {
  task: "digits",
  bundle: "ab".repeat(32),
  round: 7,
  version: 6,
  weights: "cd".repeat(32),
  parameters: 1000,
  rows: 1,
  masking: { bits: 32, clip: 100, examples: 50, noise: 0, share: 1, min_clients: 3, server: "active" },
};

const random = (count: number): Bytes => crypto.getRandomValues(new Uint8Array(count));
const others = (place: number) => CLIENTS.map((_, other) => other).filter((other) => other !== place);

interface Client {
  readonly secrets: RoundSecrets;
  readonly keys: Keys;
  readonly identity: Identity;
}

async function client(name: string, terms = TERMS): Promise<Client> {
  const identity = await makeIdentity(random);
  return { identity, ...(await RoundSecrets.make(name, terms, identity, random)) };
}

function rosterFor(clients: readonly Client[]): Member[] {
  return clients.map(({ keys: { type: _type, round: _round, ...keys } }, i) => ({
    client: CLIENTS[i] as string,
    ...keys,
  }));
}

/** Everybody has checked the roster and holds the shares of all. */
async function exchange(clients: readonly Client[]): Promise<readonly [Member[], readonly Uint8Array[][]]> {
  const members = rosterFor(clients);
  for (const { secrets } of clients)
    expect((await secrets.checkRoster(members, 3, THRESHOLD, true)).wrong).toEqual([]);
  const sealed = await Promise.all(clients.map(({ secrets }, i) => secrets.seal(i, THRESHOLD, others(i))));
  for (const [place, { secrets }] of clients.entries()) {
    const mine = others(place).map((from) => sealed[from]?.[others(from).indexOf(place)] as Uint8Array);
    expect(await secrets.open(place, others(place), mine)).toEqual([]);
  }
  return [members, sealed];
}

function update(place: number): Float32Array {
  return Float32Array.from({ length: TERMS.parameters }, (_, i) => Math.sin(i + 100 * place));
}

async function masked({ secrets }: Client, place: number, terms = TERMS): Promise<Bytes> {
  const masks = await secrets.masks(place, others(place));
  const expanded = await expand(terms, await secrets.cohort(), masks, random);
  const told = {
    update: update(place),
    examples: 25 * (place + 1),
    loss: 0.5,
    sums: [10, 25 * (place + 1)],
    alone: false,
  };
  return maskUpdate(expanded, told, terms.masking.examples);
}

describe("a round of four of whom the last drops out after the exchange", () => {
  const alive = [0, 1, 2];
  let members: Member[];
  let sum: Uint32Array;

  beforeAll(async () => {
    const clients = await Promise.all(CLIENTS.map((name) => client(name)));
    const [roster, sealed] = await exchange(clients);
    members = roster;
    sum = new Uint32Array(TERMS.parameters + 5);
    for (const place of alive) {
      const words = new Uint32Array((await masked(clients[place] as Client, place)).buffer);
      sum = sum.map((word, i) => word + (words[i] as number));
    }
    const shares = alive.map((place) => clients[place]?.secrets.reveal(alive, [3]) as Uint8Array[]);
    const base = await baseHash(TERMS);
    const context = await contextHash(base, await rosterHash(base, members), 4, 3, THRESHOLD);
    /** Opens what a member sealed for a holder, as the server does: by the key that the holder reveals. */
    const share = async (owner: number, holder: number, key: Bytes) => {
      if (owner === holder) return key;
      const both = sealed[owner]?.[others(owner).indexOf(holder)] as Uint8Array;
      const part = new Uint8Array(alive.includes(owner) ? both.slice(0, 48) : both.slice(48));
      return (await unseal(key, context, owner, holder, part)) as Bytes;
    };
    const secret = async (place: number) => {
      const opened = alive.map((holder, i) => share(place, holder, shares[i]?.[place] as Bytes));
      const found = await Promise.all(opened);
      return recover(new Map(alive.map((holder, i) => [holder, found[i] as Bytes])));
    };
    // Off come the survivors' own masks, and what each of them shares with the one that dropped out.
    for (const place of alive) {
      const own = await masksOf(context, place, await secret(place), await keyPair(random(32)), new Map());
      expect(await sha256(await secret(place))).toEqual(members[place]?.seed_hash);
      await addMasks(
        sum,
        own.map(({ key }) => ({ key, sign: -1 })),
      );
    }
    const lost = await keyPair(await secret(3));
    expect(lost.publicKey).toEqual(members[3]?.mask_key);
    const keys = new Map(alive.map((place) => [place, members[place]?.mask_key as Uint8Array]));
    const [, ...pairs] = await masksOf(context, 3, random(32), lost, keys);
    await addMasks(sum, pairs);
  });

  test("shows the weighted sum of the survivors' updates", () => {
    const { step, furtherLevels } = encodingOf({
      members: 4,
      sharers: THRESHOLD,
      ...TERMS,
      ...TERMS.masking,
    });
    const weights = [0.5, 1, 1];
    const signed = new Int32Array(sum.buffer);
    for (let i = 0; i < TERMS.parameters; i++) {
      const wanted = weights.reduce((all, weight, place) => all + weight * (update(place)[i] as number), 0);
      expect(Math.abs((signed[i] as number) * step - wanted)).toBeLessThan(3 * step + 1e-6);
    }
    expect((signed[TERMS.parameters] as number) / furtherLevels).toBeCloseTo(2.5, 6);
    expect((signed[TERMS.parameters + 1] as number) / furtherLevels).toBe(3);
  });
});

test("a client's masked bytes are as long as its values and look like no other's", async () => {
  const clients = await Promise.all(CLIENTS.map((name) => client(name)));
  await exchange(clients);
  const bytes = await masked(clients[0] as Client, 0);
  expect(bytes).toHaveLength(4 * (TERMS.parameters + 5));
  const counts = new Array<number>(256).fill(0);
  for (const byte of bytes) counts[byte] = (counts[byte] ?? 0) + 1;
  const each = bytes.length / 256;
  // Chi-square with 255 degrees of freedom is beyond 400 once in 10^7.
  expect(counts.reduce((chi, count) => chi + (count - each) ** 2 / each, 0)).toBeLessThan(400);
});

test("a packed update is as short as its bits", async () => {
  const terms = { ...TERMS, masking: { ...TERMS.masking, bits: 20 } };
  const clients = await Promise.all(CLIENTS.map((name) => client(name, terms)));
  await exchange(clients);
  expect(await masked(clients[1] as Client, 1, terms)).toHaveLength(2500 + 20);
});

describe("a round that sends a quarter of the values", () => {
  const terms = { ...TERMS, parameters: 1030, masking: { ...TERMS.masking, share: 0.25 } };

  async function expandedFor({ secrets }: Client, place: number) {
    return expand(terms, await secrets.cohort(), await secrets.masks(place, others(place)), random);
  }

  test("has the same values of all clients, and each keeps its others", async () => {
    const clients = await Promise.all(CLIENTS.map((name) => client(name, terms)));
    await exchange(clients);
    const all = await Promise.all(clients.map(expandedFor));
    for (const { chosen } of all) expect(chosen).toEqual(all[0]?.chosen);
    for (const [place, expanded] of all.entries()) {
      const [trained, owed] = [new Float32Array(1030).fill(place + 1), new Float32Array(1030).fill(0.5)];
      const { sent, left } = shareUpdate(expanded, trained, owed);
      // Four of sixteen blocks, and the six values after them.
      expect(sent).toEqual(new Float32Array(4 * 64 + 6).fill(place + 1.5));
      const kept = (left as Float32Array).filter((value) => value !== 0);
      expect(kept).toEqual(new Float32Array(12 * 64).fill(place + 1.5));
      const told = { update: sent, examples: 25, loss: 0.5, sums: [10, 25], alone: false };
      expect(maskUpdate(expanded, told, 50)).toHaveLength(4 * (4 * 64 + 6 + 5));
    }
  });

  test("refuses what is no number, sent or not", async () => {
    const clients = await Promise.all(CLIENTS.map((name) => client(name, terms)));
    await exchange(clients);
    const expanded = await expandedFor(clients[0] as Client, 0);
    const sent = new Set(expanded.chosen?.blocks);
    const block = Array.from({ length: 16 }, (_, i) => i).find((i) => !sent.has(i)) as number;
    for (const at of [64 * block, 1029]) {
      const trained = new Float32Array(1030);
      trained[at] = Number.NaN;
      expect(() => {
        const { sent: values } = shareUpdate(expanded, trained, null);
        maskUpdate(expanded, { update: values, examples: 1, loss: 0, sums: [0, 1], alone: false }, 50);
      }).toThrow("NaN or infinity");
    }
  });

  test("leaves nothing where everything is sent", async () => {
    const clients = await Promise.all(CLIENTS.map((name) => client(name)));
    await exchange(clients);
    const { secrets } = clients[0] as Client;
    const expanded = await expand(TERMS, await secrets.cohort(), await secrets.masks(0, others(0)), random);
    const trained = new Float32Array(1000).fill(1);
    expect(shareUpdate(expanded, trained, null)).toEqual({ sent: trained, left: null });
  });
});

test("every client adds its share of the noise, and tells nothing but its update", async () => {
  const noise = 2;
  const terms = { ...TERMS, parameters: 20_000, masking: { ...TERMS.masking, noise, clip: 1 } };
  const clients = await Promise.all(CLIENTS.map((name) => client(name, terms)));
  await exchange(clients);
  const sum = new Uint32Array(terms.parameters + 5);
  for (const [place, { secrets }] of clients.entries()) {
    const masks = await secrets.masks(place, others(place));
    const expanded = await expand(terms, await secrets.cohort(), masks, random);
    const told = {
      update: new Float32Array(terms.parameters),
      examples: 3,
      loss: 2,
      sums: [1, 3],
      alone: true,
    };
    const words = new Uint32Array(maskUpdate(expanded, told, terms.masking.examples).buffer);
    words.forEach((word, i) => {
      sum[i] = (sum[i] as number) + word;
    });
    const own = (await secrets.masks(place, [])).map(({ key }) => ({ key, sign: -1 }) as const);
    await addMasks(sum, own);
  }
  const { step, furtherLevels } = encodingOf({ members: 4, sharers: THRESHOLD, ...terms, ...terms.masking });
  const signed = Array.from(new Int32Array(sum.buffer));
  const drawn = signed.slice(0, terms.parameters);
  // Three shares have the standard deviation `noise`; here are four. 20,000 draws tell it to 0.5 %.
  const deviation = step * Math.sqrt(drawn.reduce((all, value) => all + value * value, 0) / drawn.length);
  expect(deviation / (noise * Math.sqrt(4 / THRESHOLD))).toBeCloseTo(1, 1);
  expect(signed.slice(terms.parameters)).toEqual([4 * furtherLevels, 0, 0, 0, 0]);
});

test("keys that are of no use or wrongly signed are found", async () => {
  const clients = await Promise.all(CLIENTS.map((name) => client(name)));
  const [first, ...rest] = rosterFor(clients) as [Member, ...Member[]];
  const zeros = new Uint8Array(32);
  const check = (member: Member, verify: boolean) =>
    (clients[0] as Client).secrets.checkRoster([first, ...rest.slice(0, 2), member], 3, THRESHOLD, verify);
  const last = rest[2] as Member;
  expect((await check({ ...last, mask_key: zeros }, false)).wrong).toEqual([3]);
  expect((await check({ ...last, share_key: zeros }, false)).wrong).toEqual([3]);
  expect((await check({ ...last, client: "4e" }, true)).wrong).toEqual([3]);
  expect((await check({ ...last, client: "4e" }, false)).wrong).toEqual([]);
  expect([...(await check(last, true)).order].sort()).toEqual([0, 1, 2, 3]);
});

test("shares for somebody else or of another round stay closed, and a reveal passes over them", async () => {
  const clients = await Promise.all(CLIENTS.map((name) => client(name)));
  const strangers = await Promise.all(CLIENTS.map((name) => client(name)));
  await exchange(clients);
  await exchange(strangers);
  const [own, neighbour] = clients as [Client, Client];
  const forOthers = await neighbour.secrets.seal(1, THRESHOLD, others(1));
  const foreign = await (strangers[2] as Client).secrets.seal(2, THRESHOLD, others(2));
  const fresh = (await Promise.all(CLIENTS.map((name) => client(name)))) as [Client, ...Client[]];
  await fresh[0].secrets.checkRoster(rosterFor(fresh), 3, THRESHOLD, true);
  expect(await fresh[0].secrets.open(0, [1, 2], [forOthers[1] as Bytes, foreign[0] as Bytes])).toEqual([
    1, 2,
  ]);
  expect(fresh[0].secrets.reveal([1], [2])).toEqual([
    new Uint8Array(32).fill(255),
    new Uint8Array(32).fill(255),
  ]);
  // Who revealed has forgotten everything, so that nothing more can be asked for.
  expect(own.secrets.reveal([0], []).length).toBe(1);
  expect(own.secrets.reveal([], [0])).toEqual([new Uint8Array(32).fill(255)]);
});

test("who signed other survivors is found among the vouchers", async () => {
  const clients = await Promise.all(CLIENTS.map((name) => client(name)));
  await exchange(clients);
  const sign = (place: number, alive: number[]) => (clients[place] as Client).secrets.signSurvivors(alive);
  const signatures = [await sign(0, [0, 1, 2]), await sign(1, [0, 1, 2, 3]), await sign(2, [0, 1, 2])];
  const { secrets } = clients[3] as Client;
  expect(await secrets.checkConsistencySignatures([0, 1, 2], [0, 1, 2], signatures)).toEqual([1]);
});
