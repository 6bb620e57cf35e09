/**
 * A round as a member without a part in it sees it: who of those with one has no result. The twin is
 * backend/peer/mesh/byzantine/round_watch.py.
 */

import type { GroupOrder } from "../../../protocol/wire/mesh";

/** Watches an attempt. Owned by the averager. */
export class RoundWatch {
  readonly #order: GroupOrder;
  readonly #seated: readonly string[];
  readonly #failed = new Set<string>();

  /** Those `seated` take part. */
  constructor(order: GroupOrder, seated: readonly string[]) {
    this.#order = order;
    this.#seated = seated;
  }

  /** Takes that a client has no result; returns whether it is about this attempt. */
  failed(client: string, { round, group }: { readonly round: number; readonly group: number }): boolean {
    if (round !== this.#order.round || group !== this.#order.group) return false;
    this.#failed.add(client);
    return true;
  }

  /** Whether half of them or more have no result: then nobody has one. */
  get isLost(): boolean {
    const left = this.#seated.filter((client) => !this.#failed.has(client));
    return 2 * left.length <= this.#seated.length;
  }
}
