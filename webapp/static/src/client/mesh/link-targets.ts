/** To whom links are wanted. `backend/peer/mesh/peer_directory.py` does the same. */

/**
 * Beyond so many others a peer links with those whose ids come after its own and before it, around the circle, and with the
 * members of its group: each of them is linked with others, so that signals get around.
 */
const MOST_LINKS = 32;

/**
 * With whom the peer `own` links whatever its group is: with everybody where there are few. If one of two links with the
 * other, so does the other.
 */
export function linkTargets(own: string, clients: readonly string[]): readonly string[] {
  const circle = clients.filter((client) => client !== own).sort();
  if (circle.length <= MOST_LINKS) return circle;
  const first = circle.filter((client) => client < own).length;
  const from = first - MOST_LINKS / 2 + circle.length;
  return Array.from({ length: MOST_LINKS }, (_, step) => circle[(from + step) % circle.length] as string);
}
