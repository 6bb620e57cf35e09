/** What others say of a group before its order is here: some frames of each of them, before all pieces. */

import type { GroupFrame } from "../../protocol/wire/mesh";

const MOST_OF_CLIENT = 64;
const MOST_GROUPS = 64;

export interface Said {
  readonly client: string;
  readonly frame: GroupFrame;
}

export class Early {
  readonly #groups = new Map<string, Said[]>();

  keep(client: string, frame: GroupFrame): void {
    const name = nameOf(frame.round, frame.group);
    const said = this.#groups.get(name) ?? [];
    this.#groups.set(name, said);
    if (said.filter((one) => one.client === client).length < MOST_OF_CLIENT) said.push({ client, frame });
    // Whoever invents groups pushes out the oldest.
    for (const oldest of this.#groups.keys()) {
      if (this.#groups.size <= MOST_GROUPS) break;
      this.#groups.delete(oldest);
    }
  }

  take(round: number, group: number): readonly Said[] {
    const said = this.#groups.get(nameOf(round, group)) ?? [];
    this.#groups.delete(nameOf(round, group));
    return said;
  }
}

function nameOf(round: number, group: number): string {
  return `${round} ${group}`;
}
