/** Reads the server's answers to their end: a connection may break after the answer has begun. */

/** Returns the answer as `read` decodes it; null if the server refuses or is away, or the connection breaks. */
export async function fetchAnswer<A>(
  address: string,
  accept: string,
  read: (response: Response) => Promise<A>,
): Promise<A | null> {
  try {
    const response = await fetch(address, { headers: { accept } });
    return response.ok ? await read(response) : null;
  } catch {
    return null;
  }
}

/** Does what `fetchAnswer` does, for JSON. */
export function fetchJson<A>(address: string): Promise<A | null> {
  return fetchAnswer(address, "application/json", (response) => response.json() as Promise<A>);
}
