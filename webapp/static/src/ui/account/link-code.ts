/** Codes of links: they are behind the # of an address, which browsers send to no server. */

/** Returns the code in this page's address, "" if there is none. When the code changes, the page reloads. */
export function codeOfAddress(): string {
  addEventListener("hashchange", () => {
    if (location.hash.length > 1) location.reload();
  });
  return location.hash.slice(1);
}
