/**
 * What a member of a masked round knows of it, and what follows from that. Pure functions; `backend/protocols/secagg/member_state.py`
 * is the mirror.
 */

import { same } from "../../core/data/equality";
import type { FrameOf } from "../wire/messages";
import type { Effect, Event, Keys, Member, Places, Train } from "./member-events";
import { ofSurvivors } from "./refusals";
import type { Degree } from "./terms";

export type Planned = Extract<Event, { type: "planned" }>;
export type Masking = NonNullable<Train["masking"]>;

/** What the member of one round knows of it. */
export interface Part {
  readonly terms: Planned;
  readonly masking: Masking;
  readonly keys: Keys | null;
  readonly members: readonly Member[];
  readonly place: number;
  readonly degree: Degree;
  readonly neighbours: Places;
  readonly shares: FrameOf<"shares"> | null;
  readonly dealt: FrameOf<"dealt"> | null;
  /** The survivors that were signed, or for whom something was revealed: there is one such list a round. */
  readonly alive: Places | null;
  readonly vouch: FrameOf<"vouch"> | null;
  readonly reveal: FrameOf<"reveal"> | null;
}

/** Nothing was said yet in the round of this plan. */
export function begun(event: Planned, masking: Masking): Part {
  return {
    terms: lasting(event),
    masking,
    keys: null,
    members: [],
    place: 0,
    degree: { neighbours: 0, threshold: 0 },
    neighbours: [],
    shares: null,
    dealt: null,
    alive: null,
    vouch: null,
    reveal: null,
  };
}

/**
 * Whether that repeats the round's plan. After a reconnection it has less time, and the same in all else. What the volunteer
 * changed meanwhile holds from the next round on.
 */
export function isPlannedBy({ terms }: Part, event: Planned): boolean {
  return same({ ...lasting(event), minimum: terms.minimum }, terms);
}

/** Whether the server may lie. */
export function isActive(part: Part): boolean {
  return part.masking.server === "active";
}

/** Among how many clients this one takes part. */
export function least(part: Part): number {
  return Math.max(part.masking.min_clients, part.terms.minimum);
}

/** The neighbours whose shares came. */
export function senders(part: Part): Places {
  return part.dealt?.senders ?? [];
}

/** All that was said in the round so far, to be said again. */
export function said({ keys, shares, vouch, reveal }: Part): readonly Effect[] {
  return [keys, shares, vouch, reveal].filter((one) => one !== null).map(send);
}

/** Something that the member has to say. */
export function send(message: Keys | NonNullable<Part["shares" | "vouch" | "reveal"]>): Effect {
  return { type: "send", frame: message };
}

/** Why these survivors are refused. */
export function objection(part: Part, alive: Places): string | null {
  return ofSurvivors(alive, {
    place: part.place,
    members: part.members.length,
    neighbours: part.neighbours,
    senders: senders(part),
    threshold: part.degree.threshold,
    least: least(part),
  });
}

/** One share of each whose shares are held: of a survivor's seed, or else of the private mask key. */
export function revealOf(part: Part, alive: Places): Effect {
  const held = [...senders(part), part.place].sort((one, other) => one - other);
  return {
    type: "make_reveal",
    round: part.terms.plan.round,
    seeds: held.filter((place) => alive.includes(place)),
    mask_keys: held.filter((place) => !alive.includes(place)),
  };
}

/** What of a plan stays the same when it is repeated. */
function lasting(event: Planned): Planned {
  return { ...event, plan: { ...event.plan, seconds: 0 } };
}
