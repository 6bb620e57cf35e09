/** A member of a group with all that it needs in node: an exchange, a worker and links over TCP. */

import { Exchange, type GroupOutcome } from "../../../../../webapp/static/src/client/mesh/exchange";
import type { AveragingWorker } from "../../../../../webapp/static/src/client/workers/averaging-worker";
import { uniform } from "../../../../../webapp/static/src/core/numerics/philox";
import type { GroupFrame, GroupOrder, PeerFrame } from "../../../../../webapp/static/src/protocol/wire/mesh";
import { TcpLinks } from "./tcp-links";
import { averagingWorker } from "./workers";

type Exchanged = Exclude<GroupFrame, { readonly type: "attest" }>;
export type Meddle = (frame: PeerFrame, from: string) => PeerFrame;

/** Of which task the groups are; tests/support/peer/tcp_member.py says the same. */
export const OF = { task: "digits", bundle: "ab".repeat(32) };

export class Member {
  readonly links: TcpLinks;
  readonly #up = new Set<string>();
  #exchange: Exchange | null = null;
  #linked: () => void = () => undefined;
  /** Frames that came before the order did. */
  #early: (() => void)[] = [];
  #worker: AveragingWorker | null = null;

  constructor(
    readonly client: string,
    /** What happens to each frame on its way in. */
    private readonly meddle: Meddle = (frame) => frame,
  ) {
    this.links = new TcpLinks(client, {
      up: (other) => {
        this.#up.add(other);
        this.#linked();
        this.#exchange?.up(other);
      },
      down: (other) => {
        this.#up.delete(other);
        this.#exchange?.down(other);
      },
      received: (other, frame) => {
        const hear = () => this.#exchange?.receive(other, this.meddle(frame, other) as Exchanged);
        if (this.#exchange) hear();
        else this.#early.push(hear);
      },
    });
  }

  /** Resolves when there are links to so many others. */
  async linked(count: number): Promise<void> {
    while (this.#up.size < count) {
      await new Promise<void>((resolve) => {
        this.#linked = resolve;
      });
    }
  }

  async average(order: GroupOrder, vector: Float32Array<ArrayBuffer>, weight: number): Promise<GroupOutcome> {
    const worker = await averagingWorker();
    this.#worker = worker;
    const { client: own, links } = this;
    const exchange = new Exchange({ order, ...OF, own, vector, weight, links, worker });
    this.#exchange = exchange;
    exchange.start();
    for (const client of this.#up) exchange.up(client);
    for (const hear of this.#early) hear();
    return exchange.result;
  }

  close(): void {
    this.#exchange?.close();
    this.#worker?.terminate();
    this.links.close();
  }
}

/** The ids of so many members. */
export function clients(count: number): string[] {
  return Array.from({ length: count }, (_, place) => place.toString(16).padStart(16, "0"));
}

/** Makes a link between every two of them. */
export async function linkAll(members: readonly Member[]): Promise<void> {
  for (const [at, member] of members.entries()) {
    await member.links.listen();
    for (const other of members.slice(0, at)) other.links.connect(member.links.port);
  }
  await Promise.all(members.map((member) => member.linked(members.length - 1)));
}

/** For `count` members whose vectors have `size` values. */
export function orderFor(count: number, size: number, more: Partial<GroupOrder> = {}): GroupOrder {
  const parts = more.exchange === "full" ? 1 : count;
  return {
    type: "group",
    round: 3,
    group: 1,
    members: clients(count),
    // Parts of different lengths, the second one empty.
    bounds: [0, ...Array.from({ length: parts - 1 }, (_, i) => 7000 * Math.max(1, i)), size],
    exchange: "butterfly",
    precision: "float16",
    subject: "changes",
    reducer: "mean",
    least: 2,
    most_weight: 1000,
    quorum: 2,
    patience: 1,
    seconds: 120,
    ...more,
  };
}

/** What the member at `place` brings; tests/support/peer/tcp_member.py draws the same. */
export function vectorOf(place: number, size: number): Float32Array<ArrayBuffer> {
  return uniform(1, place, 0, size).map((value) => 2 * value - 1);
}

/** Resolves when so many frames came to a member that hears by `meddle`. */
export function frames(count: number): { readonly promise: Promise<void>; readonly meddle: Meddle } {
  let [left, resolve] = [count, () => {}];
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  const meddle: Meddle = (frame) => {
    left -= 1;
    if (left === 0) resolve();
    return frame;
  };
  return { promise, meddle };
}
