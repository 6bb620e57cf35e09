/**
 * Updates the `enter` frame, in which a mesh peer describes itself, as its weights change. Pure functions; the twin
 * is backend/protocols/mesh/member_entry.py.
 */

import type { Certificate } from "../wire/mesh";
import type { Enter, GroupAveraged, PlanTrained } from "./member-events";

/**
 * Records that a peer holds the weights it trained from: a new peer fetched them for its plan, and can serve them.
 */
export function withFetchedWeights(enter: Enter, { round, base }: PlanTrained): Enter {
  if (enter.holds === base) return enter;
  return { ...enter, round: Math.max(0, round - 1), holds: base, certificate: null };
}

/** Records the weights that a group ended with; they are not certified yet. */
export function withAveragedWeights(enter: Enter, { round, weights }: GroupAveraged): Enter {
  return { ...enter, round, holds: weights, certificate: null };
}

/** Adds the certificate if it is for the weights that the peer holds; more than half of the survivors signed it. */
export function withCertificate(enter: Enter, certificate: Certificate): Enter {
  return enter.holds === certificate.weights ? { ...enter, certificate } : enter;
}

/**
 * Removes weights of another bundle, which are useless, and weights without a certificate, whose origin is unknown.
 */
export function withoutForeign(enter: Enter, bundle: string): Enter {
  if (enter.certificate?.bundle === bundle) return enter;
  return { ...enter, round: 0, holds: null, certificate: null };
}
