/**
 * A member's knowledge of one masked round, and its reasons to refuse what the server sends in it. Pure functions;
 * the twin, sentence by sentence, is backend/protocols/secagg/member_round.py.
 *
 * A reason for refusal is a sentence for people, or null. docs/reference/masked-rounds.md justifies each of
 * them.
 */

import { same } from "../../core/data/equality";
import { later, type UserMessage } from "../../core/user-messages";
import type { FrameOf } from "../wire/messages";
import type { Effect, Event, Keys, Member, Places, Train } from "./member-events";
import { type Degree, MOST_ACTIVE, signers } from "./terms";

export type Planned = Extract<Event, { type: "planned" }>;
export type Masking = NonNullable<Train["masking"]>;

/** What the member knows of one round. */
export interface MemberRound {
  readonly planned: Planned;
  readonly masking: Masking;
  readonly keys: Keys | null;
  readonly members: readonly Member[];
  readonly place: number;
  readonly degree: Degree;
  readonly neighbours: Places;
  readonly shares: FrameOf<"shares"> | null;
  readonly dealt: FrameOf<"dealt"> | null;
  /** The survivors that this member signed, or revealed shares for. There is one such list per round. */
  readonly alive: Places | null;
  readonly consistencySignature: FrameOf<"vouch"> | null;
  readonly reveal: FrameOf<"reveal"> | null;
  /** The client declined because it revealed shares for the version before. */
  readonly spent: boolean;
}

/** Returns the round of this plan, before anything was sent in it. */
export function fromPlan(planned: Planned, masking: Masking): MemberRound {
  return {
    planned: withoutSeconds(planned),
    masking,
    keys: null,
    members: [],
    place: 0,
    degree: { neighbours: 0, threshold: 0 },
    neighbours: [],
    shares: null,
    dealt: null,
    alive: null,
    consistencySignature: null,
    reveal: null,
    spent: false,
  };
}

/**
 * Whether `planned` repeats the round's plan. After a reconnection only the time that remains differs. A `minimum`
 * that the volunteer changed meanwhile takes effect in the next round.
 */
export function hasPlan(round: MemberRound, planned: Planned): boolean {
  return same({ ...withoutSeconds(planned), minimum: round.planned.minimum }, round.planned);
}

export function numberOf(round: MemberRound): number {
  return round.planned.plan.round;
}

/** Whether the round is protected against an actively malicious server. */
export function isActive(round: MemberRound): boolean {
  return round.masking.server === "active";
}

/** Returns the number of signatures that a list of survivors needs; 0 if the round has none. */
export function signersOf({ members, masking }: MemberRound): number {
  return signers(members.length, masking.server);
}

/** Returns the neighbours whose shares have arrived. */
export function sendersOf(round: MemberRound): Places {
  return round.dealt?.senders ?? [];
}

/** Returns effects that send all of the round's frames again. */
export function sentIn({ keys, shares, consistencySignature, reveal }: MemberRound): readonly Effect[] {
  return [keys, shares, consistencySignature, reveal].filter((frame) => frame !== null).map(send);
}

export function send(frame: FrameOf<"keys" | "shares" | "vouch" | "reveal" | "decline">): Effect {
  return { type: "send", frame };
}

/**
 * Asks for one share of each member whose shares this one holds: of a survivor's seed, or else of the private mask
 * key.
 */
export function revealFor(round: MemberRound, alive: Places): Effect {
  const owners = [...sendersOf(round), round.place].sort((one, other) => one - other);
  return {
    type: "make_reveal",
    round: numberOf(round),
    version: round.planned.plan.version,
    seeds: owners.filter((place) => alive.includes(place)),
    mask_keys: owners.filter((place) => !alive.includes(place)),
  };
}

/**
 * Returns why this client takes no part if versions below `spent` are spent; null if it does. Two sums of a version in
 * which the same updates are could be subtracted from each other.
 */
export function spentRefusal({ planned }: MemberRound, spent: number): UserMessage | null {
  if (planned.plan.version >= spent) return null;
  return later("Its update of version %(summed)s was summed before; it waits for version %(spent)s.", {
    summed: spent - 1,
    spent,
  });
}

/** Returns why this client, which sent `keys`, refuses a roster; null if it is valid. */
export function rosterRefusal(
  round: MemberRound,
  members: readonly Member[],
  keys: Keys,
): UserMessage | null {
  const { client } = round.planned;
  const [count, minimum] = [members.length, minimumOf(round)];
  if (count < minimum) {
    return later("The round has %(members)s members; this client takes part among %(minimum)s at least.", {
      members: count,
      minimum,
    });
  }
  if (isActive(round) && count > MOST_ACTIVE) {
    return later("The round has %(members)s members; where the server may lie, %(most)s is the most.", {
      members: count,
      most: MOST_ACTIVE,
    });
  }
  if (!distinct(members.map((member) => member.client))) return later("A client is in the roster twice.");
  const { type: _type, round: _round, ...own } = keys;
  if (!members.some((member) => same(member, { client, ...own }))) {
    return later("The roster does not have this client with the keys that it sent.");
  }
  if (!distinct(members.flatMap((member) => [text(member.mask_key), text(member.share_key)]))) {
    return later("Two clients of the roster have the same key.");
  }
  if (!distinct(members.map((member) => text(member.seed_hash)))) {
    return later("Two clients of the roster have the same seed.");
  }
  if (!distinct(members.map((member) => text(member.identity)))) {
    return later("Two clients of the roster have the same identity.");
  }
  return null;
}

/** Returns why this member refuses the shares sent to it; null if they are valid. */
export function sharesRefusal(round: MemberRound, { senders, sealed }: FrameOf<"dealt">): UserMessage | null {
  const { threshold } = round.degree;
  if (!ascend(senders, round.members.length) || !within(senders, round.neighbours)) {
    return later("Shares came from clients that are no neighbours.");
  }
  if (sealed.length !== senders.length) return later("Some of the shares are missing or have no sender.");
  if (senders.length + 1 < threshold) {
    return later("Only %(shared)s of at least %(threshold)s neighbours exchanged shares.", {
      shared: senders.length + 1,
      threshold,
    });
  }
  return null;
}

/** Returns why a list of survivors is refused; null if it is valid. */
export function survivorsRefusal(round: MemberRound, alive: Places): UserMessage | null {
  const { threshold } = round.degree;
  const minimum = minimumOf(round);
  if (!ascend(alive, round.members.length))
    return later("The survivors are not a list of places in the roster.");
  if (alive.length < minimum) {
    return later("Only %(alive)s updates would be added up; this client wants %(minimum)s at least.", {
      alive: alive.length,
      minimum,
    });
  }
  const survivors = new Set(alive);
  if (!survivors.has(round.place)) return later("This client is not among the survivors.");
  const senders = new Set(sendersOf(round));
  if (round.neighbours.some((place) => survivors.has(place) && !senders.has(place))) {
    return later("A survivor never exchanged shares with this client.");
  }
  const holders = sendersOf(round).filter((place) => survivors.has(place)).length + 1;
  return holders < threshold
    ? later("Only %(holders)s of at least %(threshold)s neighbours survived.", { holders, threshold })
    : null;
}

/** Returns why the list of members that signed the survivors is refused; their signatures are checked later. */
export function signaturesRefusal(
  round: MemberRound,
  { alive, vouchers, signatures }: FrameOf<"unmask">,
): UserMessage | null {
  if (!ascend(vouchers, (alive.at(-1) ?? -1) + 1) || !within(vouchers, alive)) {
    return later("The vouchers are not among the survivors.");
  }
  if (signatures.length !== vouchers.length) return later("Some of the vouchers' signatures are missing.");
  const needed = signersOf(round);
  if (vouchers.length < needed) {
    return later("Only %(vouchers)s of at least %(needed)s clients vouch for the survivors.", {
      vouchers: vouchers.length,
      needed,
    });
  }
  return null;
}

/** Returns the least number of clients among which this one takes part. */
function minimumOf({ masking, planned }: MemberRound): number {
  return Math.max(masking.min_clients, planned.minimum);
}

/** Removes the one field of a plan that differs when the plan is repeated. */
function withoutSeconds(planned: Planned): Planned {
  return { ...planned, plan: { ...planned.plan, seconds: 0 } };
}

/** Whether these are places of a roster of `members`, in strictly ascending order. */
function ascend(places: Places, members: number): boolean {
  return [...places, members].every((place, index) => place > (places[index - 1] ?? -1));
}

function within(places: Places, others: Places): boolean {
  const all = new Set(others);
  return places.every((place) => all.has(place));
}

function distinct(words: readonly string[]): boolean {
  return new Set(words).size === words.length;
}

/** Encodes bytes as text that a set can hold. */
function text(bytes: Uint8Array): string {
  return bytes.join(",");
}
