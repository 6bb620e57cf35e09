/**
 * Lets a page under Trusted Types start workers from this server's own scripts, and from nowhere else. Import it where
 * a worker is made.
 */

interface ScriptPolicies {
  createPolicy(name: string, rules: { createScriptURL(address: string): string }): unknown;
}

/** Returns the address of a script of this server. Throws a TypeError for any other one. */
export function ownScript(address: string, page: string): string {
  const { origin, pathname } = new URL(address, page);
  if (origin !== new URL(page).origin || !pathname.startsWith("/static/")) {
    throw new TypeError(`${address} is no script of this server.`);
  }
  return address;
}

const { trustedTypes } = globalThis as { trustedTypes?: ScriptPolicies };
trustedTypes?.createPolicy("default", { createScriptURL: (address) => ownScript(address, location.href) });
