/** The secret by which the server recognises this browser, so that its contributions are added up. */

const KEY = "minga-token";

/** 32 random bytes in base64url. */
export function makeToken(): string {
  const random = crypto.getRandomValues(new Uint8Array(32));
  return btoa(String.fromCharCode(...random))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** Returns the stored token, made in the first session. A browser without storage gets a new one each time. */
export function ownToken(): string {
  try {
    const stored = localStorage.getItem(KEY);
    if (stored && /^[A-Za-z0-9_-]{22,64}$/.test(stored)) return stored;
    const made = makeToken();
    localStorage.setItem(KEY, made);
    return made;
  } catch {
    return makeToken();
  }
}
