/**
 * Updates the `enter` frame, in which a mesh peer describes itself, as its weights change. Pure functions; the twin
 * is backend/protocols/mesh/member_entry.py.
 */

import { link } from "../../core/crypto/certificate-chain";
import { type Certificate, MOST_IN_CHAIN } from "../wire/mesh";
import type { Enter, GroupAveraged, PlanTrained } from "./member-events";
import { FIRST_SERVERLESS_GROUP } from "./serverless/last-round";

/**
 * Records that a peer holds the weights it trained from: a new peer fetched them for its plan, and can serve them.
 */
export function withFetchedWeights(enter: Enter, { round, base }: PlanTrained): Enter {
  if (enter.holds === base) return enter;
  return { ...enter, round: Math.max(0, round - 1), holds: base, certificate: null, chain: [] };
}

/**
 * Records the weights that a group ended with; they are not certified yet. What follows from a group of the server
 * needs no earlier certificate.
 */
export function withAveragedWeights(enter: Enter, { round, group, weights }: GroupAveraged): Enter {
  const ledByServer = group < FIRST_SERVERLESS_GROUP;
  const chain = ledByServer || enter.certificate === null ? [] : [...enter.chain, enter.certificate];
  return { ...enter, round, holds: weights, certificate: null, chain };
}

/**
 * Adds the certificate if it is for the weights that the peer holds. A chain that gets too long begins too late for
 * the server, which then continues from its own records.
 */
export function withCertificate(enter: Enter, certificate: Certificate): Enter {
  if (enter.holds !== certificate.weights) return enter;
  if (enter.certificate !== null) return { ...enter, certificate };
  return { ...enter, certificate, chain: link(enter.chain, certificate).slice(-MOST_IN_CHAIN) };
}

/**
 * Removes weights of another bundle or run, which are useless, and weights without a certificate, whose origin is
 * unknown.
 */
export function withoutForeign(enter: Enter, bundle: string, run: string): Enter {
  if (enter.certificate?.bundle === bundle && enter.certificate.run === run) return enter;
  return { ...enter, round: 0, holds: null, certificate: null, chain: [] };
}
