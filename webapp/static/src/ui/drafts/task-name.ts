/** Derives a task's name, which addresses contain, from its title. */

const MOST = 64;

/**
 * Returns at most 64 characters of a to z, 0 to 9 and -, not starting with -: accents are removed, other characters
 * separate words.
 */
export function nameOf(title: string): string {
  return title
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, MOST)
    .replace(/-+$/, "");
}
