/**
 * Buffers frames of groups that this peer has no order for, and says so to the members that wait for it. The twin is
 * backend/peer/mesh/early_frames.py.
 */

import type { GroupFrame, GroupOrder, PeerFrame } from "../../protocol/wire/mesh";
import type { SayFrame } from "./byzantine/round-signatures";

/** At most a few frames of each peer, before any piece. */
const MOST_OF_CLIENT = 64;
const MOST_GROUPS = 64;
const NO_ORDER = "This peer is not assigned to that group.";

export interface EarlyFrame<Frame> {
  readonly client: string;
  readonly frame: Frame;
}

export interface EarlyFramesOptions {
  readonly send: (client: string, frame: PeerFrame) => void;
  /** Whether this peer never joins the group of this round and number. */
  readonly declines: (round: number, group: number) => boolean;
}

interface EarlyGroup<Frame> {
  readonly round: number;
  readonly group: number;
  readonly frames: EarlyFrame<Frame>[];
}

/**
 * A member that has begun receives `give_up` as soon as this peer declines its group, or when the patience of the last
 * group passed without an order. So a group does not wait for half of its time for a peer that follows a server which
 * was started again.
 */
export class EarlyFrames<Frame extends GroupFrame | SayFrame = GroupFrame> {
  readonly #options: EarlyFramesOptions;
  readonly #groups = new Map<string, EarlyGroup<Frame>>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #joined: GroupOrder | null = null;

  constructor(options: EarlyFramesOptions) {
    this.#options = options;
  }

  keep(client: string, frame: Frame): void {
    const { round, group } = frame;
    const name = nameOf(round, group);
    const early: EarlyGroup<Frame> = this.#groups.get(name) ?? { round, group, frames: [] };
    this.#groups.set(name, early);
    const { frames } = early;
    if (frames.filter((one) => one.client === client).length < MOST_OF_CLIENT) frames.push({ client, frame });
    // A peer that invents groups only displaces the oldest ones.
    for (const oldest of this.#groups.keys()) {
      if (this.#groups.size <= MOST_GROUPS) break;
      this.#groups.delete(oldest);
    }
    if (frame.type !== "begin") return;
    if (this.#options.declines(round, group)) this.#giveUp(early);
    else if (this.#joined !== null) this.#giveUpLater(early, this.#joined.patience);
  }

  /** Takes the order of a group that this peer joins; `take` returns its frames. */
  join(order: GroupOrder): void {
    this.#joined = order;
  }

  take(round: number, group: number): readonly EarlyFrame<Frame>[] {
    const early = this.#groups.get(nameOf(round, group));
    this.#groups.delete(nameOf(round, group));
    return early?.frames ?? [];
  }

  /** Declines groups of the peers without this one, which follows the server from now on. */
  serverReached(): void {
    for (const early of [...this.#groups.values()])
      if (this.#options.declines(early.round, early.group)) this.#giveUp(early);
  }

  /** Forgets all frames, and sends nothing more. */
  close(): void {
    this.#groups.clear();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #giveUpLater(early: EarlyGroup<Frame>, seconds: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#giveUp(early);
    }, 1000 * seconds);
    this.#timers.add(timer);
  }

  #giveUp({ round, group }: EarlyGroup<Frame>): void {
    if (this.#joined?.round === round && this.#joined.group === group) return;
    const begun = this.take(round, group).filter(({ frame }) => frame.type === "begin");
    for (const client of new Set(begun.map((one) => one.client)))
      this.#options.send(client, { type: "give_up", round, group, view: 0, reason: NO_ORDER });
  }
}

function nameOf(round: number, group: number): string {
  return `${round} ${group}`;
}
