/** Reports each unit in hand as active, every `heartbeat` seconds. */

import type { Unit } from "../../protocol/units/unit-client-events";

interface UnitHeartbeat {
  readonly timer: ReturnType<typeof setInterval>;
  steps: number;
}

/**
 * The heartbeat timers of the units in hand; it owns them. Those of hidden pages may be late, which shows the server
 * that the device is slow.
 */
export class Heartbeats {
  readonly #beats = new Map<number, UnitHeartbeat>();

  constructor(private readonly report: (lease: number, steps: number) => void) {}

  begin({ lease, heartbeat }: Unit): void {
    this.end(lease);
    const timer = setInterval(() => this.report(lease, this.#beats.get(lease)?.steps ?? 0), 1000 * heartbeat);
    this.#beats.set(lease, { timer, steps: 0 });
  }

  /** Records the steps done of `lease`. */
  stepped(lease: number, steps: number): void {
    const beat = this.#beats.get(lease);
    if (beat) beat.steps = steps;
  }

  end(lease: number): void {
    clearInterval(this.#beats.get(lease)?.timer);
    this.#beats.delete(lease);
  }

  endAll(): void {
    for (const lease of [...this.#beats.keys()]) this.end(lease);
  }
}
