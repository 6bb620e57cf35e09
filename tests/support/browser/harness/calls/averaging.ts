/** Averages of groups in a page, over the page's links. */

import { EarlyFrames } from "../../../../../webapp/static/src/client/mesh/early-frames";
import { Exchange } from "../../../../../webapp/static/src/client/mesh/exchange";
import type { LinkManager } from "../../../../../webapp/static/src/client/transports/links";
import { AveragingWorker } from "../../../../../webapp/static/src/client/workers/averaging-worker";
import { sha256, toHex } from "../../../../../webapp/static/src/core/crypto/bytes";
import { uniform } from "../../../../../webapp/static/src/core/numerics/philox";
import type { GroupFrame, GroupOrder } from "../../../../../webapp/static/src/protocol/wire/mesh";

/** How often the page looks whether it could work. */
const TICK_MILLISECONDS = 5;

export interface Averaged {
  readonly seconds: number;
  readonly sha256: string;
  readonly survivors: readonly number[];
  readonly fraction: number;
  /** Longest time for which nothing else could happen in the page. */
  readonly stalled: number;
}

export class Averaging {
  readonly #worker = new AveragingWorker();
  readonly #early = new EarlyFrames({ send: () => undefined, declines: () => false });
  #current: { readonly order: GroupOrder; readonly exchange: Exchange } | null = null;

  constructor(
    private readonly own: string,
    private readonly links: LinkManager,
  ) {}

  /** The vector is drawn as by tests/support/peer/tcp_member.py. */
  async average(order: GroupOrder, draw: number, weight: number): Promise<Averaged> {
    const vector = uniform(1, draw, 0, order.bounds.at(-1) ?? 0).map((value) => 2 * value - 1);
    this.#current?.exchange.close();
    const { own, links } = this;
    links.patience(order.patience);
    const of = { task: "digits", bundle: "ab".repeat(32) };
    const exchange = new Exchange({ order, ...of, own, vector, weight, links, worker: this.#worker });
    this.#current = { order, exchange };
    const watch = new Watch();
    exchange.start();
    for (const client of order.members) if (links.way(client) !== null) exchange.up(client);
    for (const { client, frame } of this.#early.take(order.round, order.group)) this.heard(client, frame);
    const { mean, survivors, fraction, seconds } = await exchange.result;
    const stalled = watch.end();
    links.patience(null);
    return {
      seconds,
      sha256: toHex(await sha256(new Uint8Array(mean.buffer))),
      survivors,
      fraction,
      stalled,
    };
  }

  heard(client: string, frame: GroupFrame): void {
    if (frame.type === "attest") return;
    const { order, exchange } = this.#current ?? {};
    if (order?.round === frame.round && order.group === frame.group) exchange?.receive(client, frame);
    else this.#early.keep(client, frame);
  }

  up(client: string): void {
    this.#current?.exchange.up(client);
  }

  down(client: string): void {
    this.#current?.exchange.down(client);
  }

  silent(client: string): void {
    this.#current?.exchange.silent(client);
  }
}

/** The longest time between two ticks. */
class Watch {
  #last = performance.now();
  #longest = 0;
  readonly #timer = setInterval(() => this.#look(), TICK_MILLISECONDS);

  /** Seconds. */
  end(): number {
    this.#look();
    clearInterval(this.#timer);
    return this.#longest / 1000;
  }

  #look(): void {
    const now = performance.now();
    this.#longest = Math.max(this.#longest, now - this.#last);
    this.#last = now;
  }
}
