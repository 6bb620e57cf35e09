/** Buffers frames of a group that arrive before its order: at most a few of each peer, before any piece. */

import type { GroupFrame } from "../../protocol/wire/mesh";

const MOST_OF_CLIENT = 64;
const MOST_GROUPS = 64;

export interface EarlyFrame {
  readonly client: string;
  readonly frame: GroupFrame;
}

export class EarlyFrames {
  readonly #groups = new Map<string, EarlyFrame[]>();

  keep(client: string, frame: GroupFrame): void {
    const name = nameOf(frame.round, frame.group);
    const frames = this.#groups.get(name) ?? [];
    this.#groups.set(name, frames);
    if (frames.filter((one) => one.client === client).length < MOST_OF_CLIENT) frames.push({ client, frame });
    // A peer that invents groups only displaces the oldest ones.
    for (const oldest of this.#groups.keys()) {
      if (this.#groups.size <= MOST_GROUPS) break;
      this.#groups.delete(oldest);
    }
  }

  take(round: number, group: number): readonly EarlyFrame[] {
    const frames = this.#groups.get(nameOf(round, group)) ?? [];
    this.#groups.delete(nameOf(round, group));
    return frames;
  }
}

function nameOf(round: number, group: number): string {
  return `${round} ${group}`;
}
