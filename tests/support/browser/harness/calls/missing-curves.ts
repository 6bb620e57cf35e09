/** Makes WebCrypto answer as in browsers that lack X25519 and Ed25519; returns what gives them back. */

type Method = (...given: unknown[]) => Promise<unknown>;

/** At which argument the methods that begin with a curve are told of it. */
const TOLD = { importKey: 2, generateKey: 0 } as const;

export function withoutCurves(): () => void {
  const subtle = crypto.subtle as unknown as Record<string, Method>;
  for (const [name, at] of Object.entries(TOLD)) {
    const real = (subtle[name] as Method).bind(subtle);
    subtle[name] = (...given) =>
      given[at] === "X25519" || given[at] === "Ed25519"
        ? Promise.reject(new DOMException("Unrecognized name.", "NotSupportedError"))
        : real(...given);
  }
  return () => {
    // What was put on the object hides the platform's own methods.
    for (const name of Object.keys(TOLD)) delete subtle[name];
  };
}
