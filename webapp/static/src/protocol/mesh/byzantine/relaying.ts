/**
 * Dolev and Strong's broadcast (1983): after it all honest members have the same statements. The twin, with the
 * reasons, is backend/protocols/mesh/byzantine/relaying.py.
 */

/** Returns how many windows an exchange of so many members has; fewer than half of them lie. */
export function windows(members: number): number {
  return ((members - 1) >> 1) + 1;
}

/** Returns how many signed a statement: its sender, and those of the `members` that passed it on; all identities. */
export function signerCount(
  sender: string,
  signers: readonly string[],
  members: ReadonlySet<string>,
): number {
  return new Set([sender, ...signers.filter((one) => members.has(one))]).size;
}
