/**
 * Which members of a group can be talked to, and what was said on the links that are up. What was told over a link that went
 * down counts as never said. Times are the machine's, in seconds. `backend/protocols/mesh/allreduce/links.py` is the twin.
 */

/** A word, and what makes one thing said differ from another of that word. */
export type Said = readonly [word: string, ...rest: readonly (string | number)[]];
const BULK: readonly string[] = ["piece", "sum", "mean"];

/** Somebody is gone after `grace` seconds without a link, or as soon as it is silent. */
export class LinkBook {
  readonly #told: ReadonlyMap<number, Map<string, Said>>;
  readonly #linked = new Set<number>();
  readonly #goneAt: Map<number, number>;

  constructor(
    others: readonly number[],
    private readonly grace: number,
    since: number,
  ) {
    this.#told = new Map(others.map((place) => [place, new Map()]));
    this.#goneAt = new Map(others.map((place) => [place, since]));
  }

  /** There is a link, or it is heard of again. */
  linked(place: number): void {
    this.#linked.add(place);
    this.#goneAt.delete(place);
  }

  lost(place: number, now: number): void {
    this.#linked.delete(place);
    this.#told.get(place)?.clear();
    if (!this.#goneAt.has(place)) this.#goneAt.set(place, now + this.grace);
  }

  /** Nothing comes from there. */
  silent(place: number, now: number): void {
    this.#goneAt.set(place, Math.min(now, this.#goneAt.get(place) ?? now));
  }

  /** Whether nothing is to be expected from that member. */
  gone(place: number, now: number): boolean {
    return now >= (this.#goneAt.get(place) ?? Number.POSITIVE_INFINITY);
  }

  /** Those of `places` that are linked and were not told this; from now on they were. */
  untold(what: Said, places: readonly number[]): number[] {
    const name = what.join();
    const fresh = places.filter((place) => this.#linked.has(place) && !this.#told.get(place)?.has(name));
    for (const place of fresh) this.#told.get(place)?.set(name, what);
    return fresh;
  }

  /** The bytes that were on their way to that member are dropped. */
  forget(place: number): void {
    const told = this.#told.get(place);
    for (const [name, [word]] of told ?? []) {
      if (BULK.includes(word)) told?.delete(name);
    }
  }

  /** When somebody is gone for want of a link. */
  deadlines(): number[] {
    return [...this.#goneAt.values()];
  }
}
