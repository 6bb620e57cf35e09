/** Says of each unit in hand, every `heartbeat` seconds, that it is at work. */

import type { Unit } from "../../protocol/units/unit-client-events";

interface UnitHeartbeat {
  readonly timer: ReturnType<typeof setInterval>;
  steps: number;
}

/** Owns its timers; pages that are hidden may beat later than they mean to, and say so by that. */
export class Heartbeats {
  readonly #beats = new Map<number, UnitHeartbeat>();

  constructor(private readonly tell: (lease: number, steps: number) => void) {}

  begin({ lease, heartbeat }: Unit): void {
    this.end(lease);
    const timer = setInterval(() => this.tell(lease, this.#beats.get(lease)?.steps ?? 0), 1000 * heartbeat);
    this.#beats.set(lease, { timer, steps: 0 });
  }

  /** So many steps of `lease` are done. */
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
