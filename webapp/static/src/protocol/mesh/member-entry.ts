/**
 * What a peer of a mesh says of itself when it enters, as the weights that it holds become others. Pure functions;
 * `backend/protocols/mesh/member_entry.py` is the mirror.
 */

import type { Certificate } from "../wire/mesh";
import type { Enter, GroupAveraged, PlanTrained } from "./member-events";

/** Who trained holds what it trained from: a newcomer fetched that for its plan, and can hand it on. */
export function withFetchedWeights(enter: Enter, { round, base }: PlanTrained): Enter {
  if (enter.holds === base) return enter;
  return { ...enter, round: Math.max(0, round - 1), holds: base, certificate: null };
}

/** A group ended with other weights, which nobody has signed yet. */
export function withAveragedWeights(enter: Enter, { round, weights }: GroupAveraged): Enter {
  return { ...enter, round, holds: weights, certificate: null };
}

/** More than half of the survivors signed weights: these, or others. */
export function withCertificate(enter: Enter, certificate: Certificate): Enter {
  return enter.holds === certificate.weights ? { ...enter, certificate } : enter;
}

/** Weights of another bundle are of no use; without a certificate nobody knows whose they are. */
export function withoutForeign(enter: Enter, bundle: string): Enter {
  if (enter.certificate?.bundle === bundle) return enter;
  return { ...enter, round: 0, holds: null, certificate: null };
}
