/**
 * The graph of a masked round: each member's neighbours, and how many shares recover a secret. Both depend only on
 * the number of members. The twin is backend/protocols/secagg/terms.py, which cites the source of the table;
 * tests/contract/vectors/secagg.json tests both.
 */

export type Server = "honest" | "active";

/** Up to this number of members the graph is complete. */
const COMPLETE = 64;
/** Against an active server the graph is always complete; more members would cost each of them too much. */
export const MOST_ACTIVE = 256;

/** Each member has `neighbours` neighbours; `threshold` shares, its own included, recover one of its secrets. */
export interface Degree {
  readonly neighbours: number;
  readonly threshold: number;
}

/** For up to `maximum` members: the numbers of neighbours and of shares that recover a secret. */
const SPARSE: readonly (readonly [maximum: number, neighbours: number, threshold: number])[] = [
  [80, 28, 9],
  [100, 32, 11],
  [128, 40, 15],
  [160, 46, 17],
  [200, 54, 21],
  [256, 62, 25],
  [320, 66, 27],
  [400, 72, 29],
  [512, 76, 31],
  [640, 80, 33],
  [800, 86, 36],
  [1024, 88, 36],
  [1536, 90, 37],
  [2048, 96, 40],
];

/** Returns the graph's degree for a roster of `members`. Throws RangeError for more members than the table covers. */
export function degree(members: number, server: Server): Degree {
  const complete = server === "active" ? MOST_ACTIVE : COMPLETE;
  if (members <= complete) return { neighbours: members - 1, threshold: Math.floor((2 * members) / 3) + 1 };
  const sparse = server === "active" ? undefined : SPARSE.find(([maximum]) => members <= maximum);
  if (sparse === undefined) throw new RangeError(`${members} members are too many for a masked round.`);
  return { neighbours: sparse[1], threshold: sparse[2] };
}

/**
 * Returns the largest number of clients among which the noise of a round is ever shared out: `minClients`, or the
 * threshold, which is largest in the largest complete graph.
 */
export function mostSharers(minClients: number, server: Server): number {
  return Math.max(minClients, degree(server === "active" ? MOST_ACTIVE : COMPLETE, server).threshold);
}

/**
 * Returns how many members must sign a list of survivors before any reveals for it; 0 if none need to. The twin
 * says why.
 */
export function signers(members: number, server: Server): number {
  if (server === "active") return degree(members, server).threshold;
  return members <= COMPLETE ? 0 : Math.floor((members + Math.ceil(members / 10)) / 2) + 1;
}

/** Returns the `count` neighbours of `place` in ascending order; `ring` has all places in the order of the ring. */
export function neighboursOf(place: number, ring: readonly number[], count: number): readonly number[] {
  const members = ring.length;
  const position = ring.indexOf(place);
  const others = ring.filter((_, index) => {
    const distance = Math.abs(index - position);
    return distance > 0 && (count >= members - 1 || Math.min(distance, members - distance) <= count / 2);
  });
  return others.sort((one, other) => one - other);
}
