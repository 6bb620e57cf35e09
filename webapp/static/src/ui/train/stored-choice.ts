/** A volunteer's choice in a field, stored for all tasks of this site. */

/** Returns the stored text; empty without one, or in a browser without storage. */
export function storedChoice(key: string): string {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

/** Stores the text; a browser without storage asks again next time. */
export function storeChoice(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // Without storage the choice is valid until the page closes.
  }
}
