/** Selects the peers that this one links with. `backend/peer/mesh/peer_directory.py` does the same. */

/**
 * Beyond this number of others, a peer links only with those whose ids follow and precede its own around the circle,
 * and with the members of its group. Each of them is linked with others, so that signals reach all.
 */
const MOST_LINKS = 32;

/**
 * Returns the clients that the peer `own` links with in any group: all, if there are few. The relation is symmetric.
 */
export function linkTargets(own: string, clients: readonly string[]): readonly string[] {
  const circle = clients.filter((client) => client !== own).sort();
  if (circle.length <= MOST_LINKS) return circle;
  const first = circle.filter((client) => client < own).length;
  const from = first - MOST_LINKS / 2 + circle.length;
  return Array.from({ length: MOST_LINKS }, (_, step) => circle[(from + step) % circle.length] as string);
}
