/**
 * The survivors of the last certified round, as one of them knows them: they alone go on without the server.
 * `backend/protocols/mesh/serverless/survivors.py` is the mirror.
 */

import type { Certificate } from "../../wire/mesh";

export class Survivors {
  /** Shows the weights that they made; null before the first. */
  certificate: Certificate | null = null;
  readonly #linked = new Set<string>();

  /** `own` is the id of the peer that keeps this. */
  constructor(private readonly own: string) {}

  /** The round of the certified weights; 0 before the first. */
  get round(): number {
    return this.certificate?.round ?? 0;
  }

  /** Whether that is one of them, be it this peer or another. */
  has(client: string): boolean {
    return this.certificate?.survivors.includes(client) ?? false;
  }

  /** Whether that is another one of them: nobody else is listened to. */
  believes(client: string): boolean {
    return client !== this.own && this.has(client);
  }

  /** The others, to whom there are links. */
  get linked(): readonly string[] {
    const named = this.certificate?.survivors ?? [];
    return named.filter((client) => client !== this.own && this.#linked.has(client));
  }

  /** There is a link to `client`, whoever that is. */
  up(client: string): void {
    this.#linked.add(client);
  }

  /** There is none any more. */
  down(client: string): void {
    this.#linked.delete(client);
  }
}
