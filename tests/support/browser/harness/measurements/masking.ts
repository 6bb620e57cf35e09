/** What a masked round costs one client, part by part, in this browser; the others are there to exchange keys with. */

import type { Bytes } from "../../../../../webapp/static/src/core/crypto/bytes";
import { makeIdentity } from "../../../../../webapp/static/src/core/crypto/keys";
import { BLOCK_BYTES } from "../../../../../webapp/static/src/core/crypto/keystream";
import type { Keys, Member } from "../../../../../webapp/static/src/core/messages/masking";
import { degree, neighboursOf } from "../../../../../webapp/static/src/protocol/secagg/terms";
import { RoundSecrets } from "../../../../../webapp/static/src/workers/masking/secrets";
import { expand, maskUpdate } from "../../../../../webapp/static/src/workers/masking/update";

interface Wanted {
  readonly clients: number;
  readonly parameters: number;
  readonly bits: number;
  readonly turns: number;
}

/** Seconds of the wall; the best of the turns. */
export interface Times {
  readonly neighbours: number;
  /** AES-CTR alone: a client's masks enciphered one block after the other, and thrown away. */
  readonly keystream: number;
  /** Making keys, looking at the roster, sealing and opening shares. */
  readonly exchange: number;
  /** Masks from keys, added up. */
  readonly expand: number;
  /** From the update to the bytes that are sent. */
  readonly mask: number;
}

const HASH = "ab".repeat(32);

function random(count: number): Bytes {
  return crypto.getRandomValues(new Uint8Array(count));
}

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const begun = performance.now();
  const done = await work();
  return [done, (performance.now() - begun) / 1000];
}

export async function maskingTimes(wanted: Wanted): Promise<Times> {
  const turns: Times[] = [];
  for (let turn = 0; turn < wanted.turns; turn++) turns.push(await play(wanted));
  const best = (part: "keystream" | "exchange" | "expand" | "mask") =>
    Math.min(...turns.map((times) => times[part]));
  return {
    neighbours: (turns[0] as Times).neighbours,
    keystream: best("keystream"),
    exchange: best("exchange"),
    expand: best("expand"),
    mask: best("mask"),
  };
}

async function play({ clients, parameters, bits }: Wanted): Promise<Times> {
  const masking = {
    bits,
    clip: 1,
    examples: 100,
    noise: 0,
    share: 1,
    min_clients: 3,
    server: "honest",
  } as const;
  const terms = {
    task: "t",
    bundle: HASH,
    round: 1,
    version: 0,
    weights: HASH,
    parameters,
    rows: 1,
    masking,
  };
  const identity = await makeIdentity(random);
  const make = (place: number) => RoundSecrets.make(nameOf(place), terms, identity, random);
  const [own, making] = await timed(() => make(0));
  const others = await Promise.all(Array.from({ length: clients - 1 }, (_, i) => make(i + 1)));
  const everybody = [own, ...others];
  const members = everybody.map(({ keys }, place) => memberOf(place, keys));
  const graph = degree(clients, "honest");
  const check = (secrets: RoundSecrets) =>
    secrets.checkRoster(members, graph.neighbours, graph.threshold, false);
  const [{ order }, checking] = await timed(() => check(own.secrets));
  const mine = neighboursOf(0, order, graph.neighbours);
  const [, sealing] = await timed(() => own.secrets.seal(0, graph.threshold, mine));
  const dealt = await Promise.all(
    mine.map(async (from) => {
      const { secrets } = everybody[from] as (typeof everybody)[number];
      await check(secrets);
      const theirs = neighboursOf(from, order, graph.neighbours);
      return (await secrets.seal(from, graph.threshold, theirs))[theirs.indexOf(0)] as Uint8Array;
    }),
  );
  const [unopened, opening] = await timed(() => own.secrets.open(0, mine, dealt));
  if (unopened.length > 0) throw new Error("Shares could not be opened.");
  const [expanded, expanding] = await timed(async () =>
    expand(terms, await own.secrets.cohort(), await own.secrets.masks(0, mine), random),
  );
  const update = Float32Array.from({ length: parameters }, (_, i) => Math.sin(i) / Math.sqrt(parameters));
  const told = { update, examples: 100, loss: 0.5, sums: [50, 100], alone: false };
  const [bytes, packing] = await timed(async () => maskUpdate(expanded, told, masking.examples));
  const [, keystream] = await timed(() => encipher(mine.length + 1, 4 * expanded.masks.length));
  if (bytes.length === 0) throw new Error("Nothing was masked.");
  return {
    neighbours: mine.length,
    keystream,
    exchange: making + checking + sealing + opening,
    expand: expanding,
    mask: packing,
  };
}

/** The least that `masks` of so many bytes can cost. */
async function encipher(masks: number, bytes: number): Promise<void> {
  const zeros = new Uint8Array(BLOCK_BYTES);
  for (let mask = 0; mask < masks; mask++) {
    const key = await crypto.subtle.importKey("raw", random(32), "AES-CTR", false, ["encrypt"]);
    for (let from = 0; from < bytes; from += BLOCK_BYTES) {
      const counter = new Uint8Array(16);
      new DataView(counter.buffer).setBigUint64(8, BigInt(from / 16));
      const block = zeros.subarray(0, Math.min(BLOCK_BYTES, bytes - from));
      await crypto.subtle.encrypt({ name: "AES-CTR", counter, length: 64 }, key, block);
    }
  }
}

/** Public ids in ascending order, as places in a roster are. */
function nameOf(place: number): string {
  return place.toString(16).padStart(16, "0");
}

function memberOf(place: number, { type: _type, round: _round, ...keys }: Keys): Member {
  return { client: nameOf(place), ...keys };
}
