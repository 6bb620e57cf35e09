/** What a server answers, read to its end: a connection may break after the answer has begun. */

/** The answer as `read` understands it; null where the server refuses or is away, or the connection breaks. */
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

/** As `answered`, of JSON. */
export function fetchJson<A>(address: string): Promise<A | null> {
  return fetchAnswer(address, "application/json", (response) => response.json() as Promise<A>);
}
