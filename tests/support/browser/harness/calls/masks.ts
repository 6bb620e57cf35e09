/** Computes tests/contract/vectors/masked.json again: what differs, in words. Run in Node and in browsers. */

import { concat, fields, fromHex, sha256 } from "../../../../../webapp/static/src/core/crypto/bytes";
import * as context from "../../../../../webapp/static/src/core/crypto/context";
import { ownKey, pairKey, sealingKeys } from "../../../../../webapp/static/src/core/crypto/derive";
import { isUsableKey, keyPair, sign, verify } from "../../../../../webapp/static/src/core/crypto/keys";
import { addMasks, type Mask } from "../../../../../webapp/static/src/core/crypto/keystream";
import { masksOf } from "../../../../../webapp/static/src/core/crypto/masking";
import { seal, unseal } from "../../../../../webapp/static/src/core/crypto/sealing";
import { split } from "../../../../../webapp/static/src/core/crypto/shamir";
import { withoutCurves } from "./missing-curves";

type Places = readonly number[];

interface Derived {
  readonly purpose: "own" | "sealing" | "pair";
  readonly secret: string;
  readonly context: string;
  readonly places: readonly [number, number];
  readonly key: string;
}

interface Sealed {
  readonly key: string;
  readonly context: string;
  readonly sender: number;
  readonly receiver: number;
  readonly seed_share: string;
  readonly mask_share: string;
  readonly sealed: string;
}

interface Member {
  readonly client: string;
  readonly mask_private: string;
  readonly share_private: string;
  readonly identity_private: string;
  readonly seed: string;
  readonly mask_key: string;
  readonly share_key: string;
  readonly seed_hash: string;
  readonly identity: string;
  readonly keys_statement: string;
  readonly keys_signature: string;
}

interface Cohort {
  readonly terms: Omit<context.MaskingTerms, "masking"> & context.MaskingTerms["masking"];
  readonly base: string;
  readonly members: readonly Member[];
  readonly roster: string;
  readonly degree: number;
  readonly threshold: number;
  readonly context: string;
  readonly ring: Places;
  readonly neighbours: readonly Places[];
  readonly dealt: Places;
  readonly survivors_statement: string;
  readonly values: readonly Places[];
  readonly masked: readonly Places[];
}

/** What the file holds, as far as clients compute it. Bytes are hexadecimal. */
export interface Golden {
  readonly fields: readonly { readonly parts: readonly string[]; readonly bytes: string }[];
  readonly agreements: readonly Readonly<Record<"private" | "public" | "other" | "secret", string>>[];
  readonly bad_keys: readonly string[];
  readonly signatures: readonly (Readonly<
    Record<"private" | "public" | "statement" | "signature", string>
  > & { readonly valid: boolean })[];
  readonly derived: readonly Derived[];
  readonly keystreams: readonly {
    readonly key: string;
    readonly start: number;
    readonly count: number;
    readonly first: Places;
    readonly sha256: string;
  }[];
  readonly sealed: readonly Sealed[];
  readonly shares: readonly {
    readonly secret: string;
    readonly holders: Places;
    readonly threshold: number;
    readonly randomness: string;
    readonly shares: readonly string[];
  }[];
  readonly rings: readonly {
    readonly context: string;
    readonly clients: readonly string[];
    readonly ring: Places;
  }[];
  readonly cohorts: readonly Cohort[];
}

/** Collects what differs. */
class Comparison {
  readonly faults: string[] = [];
  compared = 0;

  equal(what: string, got: unknown, wanted: unknown): void {
    this.compared += 1;
    const text = got instanceof Uint8Array ? hex(got) : JSON.stringify(got);
    if (text !== (typeof wanted === "string" ? wanted : JSON.stringify(wanted))) this.faults.push(what);
  }
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** How many values were compared, and the names of those that differ. */
export async function masks({
  golden,
  noble,
}: {
  readonly golden: Golden;
  /** As in a browser without X25519 and Ed25519. */
  readonly noble: boolean;
}): Promise<{ readonly compared: number; readonly faults: readonly string[] }> {
  const giveBack = noble ? withoutCurves() : () => undefined;
  const comparison = new Comparison();
  try {
    for (const { parts, bytes } of golden.fields)
      comparison.equal(`fields ${parts}`, fields(...parts.map(fromHex)), bytes);
    await compareKeys(comparison, golden);
    await compareDerived(comparison, golden);
    await compareKeystreams(comparison, golden);
    await compareSealed(comparison, golden);
    for (const { secret, holders, threshold, randomness, shares } of golden.shares) {
      const made = split(fromHex(secret), holders, threshold, fromHex(randomness));
      comparison.equal(`shares of ${secret}`, made.map(hex), shares);
    }
    for (const { context: salt, clients, ring } of golden.rings)
      comparison.equal(`ring of ${clients.length}`, await context.ring(fromHex(salt), clients), ring);
    for (const cohort of golden.cohorts) await compareCohort(comparison, cohort);
  } finally {
    giveBack();
  }
  return comparison;
}

async function compareKeys(comparison: Comparison, golden: Golden): Promise<void> {
  for (const { private: hidden, public: own, other, secret } of golden.agreements) {
    const pair = await keyPair(fromHex(hidden));
    comparison.equal(`public key ${own}`, pair.publicKey, own);
    comparison.equal(`agreement ${own}`, await pair.agree(fromHex(other)), secret);
    for (const bad of golden.bad_keys)
      comparison.equal(`agreement with ${bad}`, await pair.agree(fromHex(bad)), null);
  }
  for (const bad of golden.bad_keys) comparison.equal(`use of ${bad}`, isUsableKey(fromHex(bad)), false);
  for (const { public: own } of golden.agreements)
    comparison.equal(`use of ${own}`, isUsableKey(fromHex(own)), true);
  for (const [n, one] of golden.signatures.entries()) {
    const statement = fromHex(one.statement);
    const found = await verify(fromHex(one.public), fromHex(one.signature), statement);
    comparison.equal(`verdict ${n}`, found, one.valid);
    if (!one.valid) continue;
    const identity = { privateKey: fromHex(one.private), publicKey: fromHex(one.public) };
    comparison.equal(`signature ${n}`, await sign(identity, statement), one.signature);
  }
}

async function compareDerived(comparison: Comparison, { derived }: Golden): Promise<void> {
  for (const { purpose, secret, context: salt, places, key } of derived) {
    const [one, other] = places;
    const [from, bound] = [fromHex(secret), fromHex(salt)];
    const made =
      purpose === "own"
        ? ownKey(from, bound, one)
        : purpose === "pair"
          ? pairKey(from, bound, one, other)
          : sealingKeys(from, bound, one, other).then(concat);
    comparison.equal(`${purpose} key of ${places}`, await made, key);
  }
}

async function compareKeystreams(comparison: Comparison, { keystreams }: Golden): Promise<void> {
  for (const { key, start, count, first, sha256: wanted } of keystreams) {
    const words = new Uint32Array(start + count);
    await addMasks(words, [{ key: fromHex(key), sign: 1 }]);
    const part = words.slice(start);
    comparison.equal(`words of ${key}`, Array.from(part.subarray(0, first.length)), first);
    comparison.equal(`keystream of ${key}`, await sha256(new Uint8Array(part.buffer)), wanted);
  }
}

async function compareSealed(comparison: Comparison, golden: Golden): Promise<void> {
  for (const { key, context: salt, sender, receiver, seed_share, mask_share, sealed } of golden.sealed) {
    const [cipher, bound, both] = [fromHex(key), fromHex(salt), fromHex(sealed)];
    for (const [kind, share] of [seed_share, mask_share].entries()) {
      const [part, one] = [both.slice(48 * kind, 48 * kind + 48), cipher.slice(32 * kind, 32 * kind + 32)];
      comparison.equal(`seal ${sender}`, await seal(one, bound, sender, receiver, fromHex(share)), hex(part));
      comparison.equal(`opened ${sender}`, await unseal(one, bound, sender, receiver, part), share);
    }
  }
}

async function compareCohort(comparison: Comparison, cohort: Cohort): Promise<void> {
  const { terms, members, degree, threshold } = cohort;
  const name = `cohort of ${members.length}:`;
  const base = await context.baseHash({ ...terms, masking: terms });
  comparison.equal(`${name} base`, base, cohort.base);
  const keys = members.map(publicKeys);
  const roster = await context.rosterHash(base, keys);
  comparison.equal(`${name} roster`, roster, cohort.roster);
  const bound = await context.contextHash(base, roster, members.length, degree, threshold);
  comparison.equal(`${name} context`, bound, cohort.context);
  const order = await context.ring(
    bound,
    members.map(({ client }) => client),
  );
  comparison.equal(`${name} ring`, order, cohort.ring);
  const survivors = context.survivorsStatement(bound, cohort.dealt);
  comparison.equal(`${name} survivors`, survivors, cohort.survivors_statement);
  for (const [place, member] of members.entries()) {
    const statement = context.keysStatement(base, keys[place] as context.MemberKeys);
    comparison.equal(`${name} statement ${place}`, statement, member.keys_statement);
    const identity = { privateKey: fromHex(member.identity_private), publicKey: fromHex(member.identity) };
    comparison.equal(`${name} signature ${place}`, await sign(identity, statement), member.keys_signature);
    comparison.equal(`${name} seed ${place}`, await sha256(fromHex(member.seed)), member.seed_hash);
  }
  for (const [at, place] of cohort.dealt.entries()) {
    const member = members[place] as Member;
    const dealt = (cohort.neighbours[place] as Places).filter((other) => cohort.dealt.includes(other));
    const others = new Map(dealt.map((other) => [other, fromHex((members[other] as Member).mask_key)]));
    const pair = await keyPair(fromHex(member.mask_private));
    const made: Mask[] = await masksOf(bound, place, fromHex(member.seed), pair, others);
    const words = Uint32Array.from(cohort.values[at] as Places);
    await addMasks(words, made);
    const kept = Array.from(words, (word) => word % 2 ** terms.bits);
    comparison.equal(`${name} masked values of ${place}`, kept, cohort.masked[at]);
  }
}

function publicKeys({ client, mask_key, share_key, seed_hash, identity }: Member): context.MemberKeys {
  return {
    client,
    mask_key: fromHex(mask_key),
    share_key: fromHex(share_key),
    seed_hash: fromHex(seed_hash),
    identity: fromHex(identity),
  };
}
