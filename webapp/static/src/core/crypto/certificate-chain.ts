/**
 * Chains certificates from a group that the server recorded to the weights that a peer shows. The twin is
 * backend/crypto/certificate_chain.py; only servers check chains. docs/decisions/0060-chains-of-certificates.md.
 */

import type { Certificate } from "../../protocol/wire/mesh";

/** How far a certificate's round may be ahead of the one before: rounds without a result use up numbers. */
const MOST_ROUNDS_AHEAD = 1024;

/**
 * Returns the earlier certificates that prove `certificate`; `links` proved what the peer held before, oldest first.
 * Certificates are left out if `certificate` follows from an earlier one by itself.
 */
export function link(links: readonly Certificate[], certificate: Certificate): readonly Certificate[] {
  const base = links.findIndex((earlier) => follows(certificate, earlier));
  return base < 0 ? links : links.slice(0, base + 1);
}

/** Whether more than half of the survivors of `earlier` signed `certificate`, not too far ahead. */
function follows({ round, signatures }: Certificate, earlier: Certificate): boolean {
  const signers = new Set(signatures.map(({ client }) => client));
  const count = new Set(earlier.survivors.filter((client) => signers.has(client))).size;
  return round <= earlier.round + MOST_ROUNDS_AHEAD && 2 * count > earlier.survivors.length;
}
