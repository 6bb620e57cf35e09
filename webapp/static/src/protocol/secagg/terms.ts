/**
 * What the number of a masked round's members fixes: each member's neighbours, and how many shares recover a secret.
 * The mirror of backend/protocols/secagg/terms.py, which says where the table comes from;
 * tests/contract/vectors/secagg.json holds both to the same.
 */

export type Server = "honest" | "active";

/** Up to so many members the graph is complete. */
const COMPLETE = 64;
/** Where the server may lie the graph is always complete; more members would cost each of them too much. */
export const MOST_ACTIVE = 256;

/** Each member has so many `neighbours`; `threshold` of them and itself recover a secret of it. */
export interface Degree {
  readonly neighbours: number;
  readonly threshold: number;
}

/** For up to so many members: neighbours and threshold. */
const SPARSE: readonly (readonly [most: number, neighbours: number, threshold: number])[] = [
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

/** The graph's degree for a roster of `members`. Throws RangeError for more than it is made for. */
export function degree(members: number, server: Server): Degree {
  const complete = server === "active" ? MOST_ACTIVE : COMPLETE;
  if (members <= complete) return { neighbours: members - 1, threshold: Math.floor((2 * members) / 3) + 1 };
  const sparse = server === "active" ? undefined : SPARSE.find(([most]) => members <= most);
  if (sparse === undefined) throw new RangeError(`${members} members are too many for a masked round.`);
  return { neighbours: sparse[1], threshold: sparse[2] };
}

/** The places of the `count` neighbours of `place`, ascending; `ring` has all places in their order. */
export function neighboursOf(place: number, ring: readonly number[], count: number): readonly number[] {
  const members = ring.length;
  const position = ring.indexOf(place);
  const others = ring.filter((_, index) => {
    const distance = Math.abs(index - position);
    return distance > 0 && (count >= members - 1 || Math.min(distance, members - distance) <= count / 2);
  });
  return others.sort((one, other) => one - other);
}
