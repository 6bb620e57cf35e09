/** A task's name, as it stands in addresses, made of its title. */

const MOST = 64;

/** At most 64 of a to z, 0 to 9 and -, with no - first: accents are left out, all else parts words. */
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
