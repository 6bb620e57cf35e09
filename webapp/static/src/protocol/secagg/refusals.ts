/**
 * What a member of a masked round refuses of what the server says; each answer is a sentence, or null. The mirror of
 * backend/protocols/secagg/refusals.py, sentence by sentence; docs/decisions/0017-masked-rounds.md says why.
 */

import { same } from "../../core/data/equality";
import type { FrameOf } from "../wire/messages";
import type { Keys, Member, Places } from "./member-events";
import { MOST_ACTIVE } from "./terms";

/** Whether these are places of a roster of so many `members`, each once and in order. */
export function ascend(places: Places, members: number): boolean {
  return [...places, members].every((place, index) => place > (places[index - 1] ?? -1));
}

/** Of a roster for `client`, which sent `keys` and takes part among `least` clients. */
export function ofRoster(
  members: readonly Member[],
  client: string,
  keys: Keys,
  least: number,
  active: boolean,
): string | null {
  if (members.length < least) {
    return `The round has ${members.length} members; this client takes part among ${least} at least.`;
  }
  if (active && members.length > MOST_ACTIVE) {
    return `The round has ${members.length} members; where the server may lie, ${MOST_ACTIVE} is the most.`;
  }
  if (!different(members.map((member) => member.client))) return "A client is in the roster twice.";
  const { type: _type, round: _round, ...own } = keys;
  if (!members.some((member) => same(member, { client, ...own }))) {
    return "The roster does not have this client with the keys that it sent.";
  }
  if (!different(members.flatMap((member) => [text(member.mask_key), text(member.share_key)]))) {
    return "Two clients of the roster have the same key.";
  }
  if (!different(members.map((member) => text(member.seed_hash)))) {
    return "Two clients of the roster have the same seed.";
  }
  if (!different(members.map((member) => text(member.identity)))) {
    return "Two clients of the roster have the same identity.";
  }
  return null;
}

/** Of the shares that came for a member with these `neighbours`. */
export function ofDealt(
  { senders, sealed }: FrameOf<"dealt">,
  neighbours: Places,
  members: number,
  threshold: number,
): string | null {
  if (!ascend(senders, members) || !within(senders, neighbours)) {
    return "Shares came from clients that are no neighbours.";
  }
  if (sealed.length !== senders.length) return "Some of the shares are missing or have no sender.";
  if (senders.length + 1 < threshold) {
    return `Only ${senders.length + 1} of at least ${threshold} neighbours exchanged shares.`;
  }
  return null;
}

export interface Holder {
  readonly place: number;
  readonly members: number;
  readonly neighbours: Places;
  /** The neighbours whose shares came. */
  readonly senders: Places;
  readonly threshold: number;
  /** Among how many this client takes part. */
  readonly least: number;
}

/** Of survivors named to this `holder` of shares. */
export function ofSurvivors(alive: Places, holder: Holder): string | null {
  if (!ascend(alive, holder.members)) return "The survivors are no list of places in the roster.";
  if (alive.length < holder.least) {
    return `Only ${alive.length} updates would be added up; this client wants ${holder.least} at least.`;
  }
  const survivors = new Set(alive);
  if (!survivors.has(holder.place)) return "This client is not among the survivors.";
  const dealt = new Set(holder.senders);
  if (holder.neighbours.some((place) => survivors.has(place) && !dealt.has(place))) {
    return "A survivor never exchanged shares with this client.";
  }
  const held = holder.senders.filter((place) => survivors.has(place)).length + 1;
  return held < holder.threshold ? `Only ${held} of at least ${holder.threshold} neighbours survived.` : null;
}

/** Of those who are said to have signed the survivors, before their signatures are looked at. */
export function ofVouchers(
  { alive, vouchers, signatures }: FrameOf<"unmask">,
  threshold: number,
): string | null {
  if (!ascend(vouchers, (alive.at(-1) ?? -1) + 1) || !within(vouchers, alive)) {
    return "The vouchers are not among the survivors.";
  }
  if (signatures.length !== vouchers.length) return "Some of the vouchers' signatures are missing.";
  if (vouchers.length < threshold) {
    return `Only ${vouchers.length} of at least ${threshold} clients vouch for the survivors.`;
  }
  return null;
}

function within(places: Places, others: Places): boolean {
  const all = new Set(others);
  return places.every((place) => all.has(place));
}

function different(words: readonly string[]): boolean {
  return new Set(words).size === words.length;
}

/** Bytes as a word that a set can hold. */
function text(bytes: Uint8Array): string {
  return bytes.join(",");
}
