/** Codes of links: they stand behind the # of an address, which browsers send to nobody. */

/** The code in this page's address, "" where there is none. With another one put there, the page begins anew. */
export function codeOfAddress(): string {
  addEventListener("hashchange", () => {
    if (location.hash.length > 1) location.reload();
  });
  return location.hash.slice(1);
}
