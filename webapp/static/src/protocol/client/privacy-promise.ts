/**
 * Checks that a server keeps to the privacy terms of its Welcome; the twin is
 * backend/protocols/client/privacy_promise.py.
 *
 * Clients clip and add noise as a plan says, so that a server could leave the noise out of a plan: the terms that a
 * client was told when it joined are the least that it does.
 */

import type { FrameOf } from "../wire/messages";

export type PrivacyTerms = FrameOf<"welcome">["privacy"];

/** Returns the noise that clients add themselves, as a multiple of the clip; 0 if the server adds it. */
export function noiseOfClients(terms: PrivacyTerms): number {
  return terms === null || terms.mechanism === "central" ? 0 : terms.noise;
}

/** Whether `terms` have less noise than those `promised`, or other ones of what noise is measured by. */
export function isWeaker(terms: PrivacyTerms, promised: PrivacyTerms): boolean {
  if (promised === null) return false;
  if (terms === null) return true;
  const { mechanism, clip, microbatch, noise, delta } = promised;
  const alike = terms.mechanism === mechanism && terms.clip === clip && terms.microbatch === microbatch;
  return !(alike && terms.noise >= noise && terms.delta <= delta);
}

/** Whether a client that trains by this plan clips and adds noise as `terms` say, or adds more noise. */
export function keepsPromise({ privacy, masking }: FrameOf<"train">, terms: PrivacyTerms): boolean {
  if (terms === null) return true;
  const { clip, noise, microbatch } = terms;
  switch (terms.mechanism) {
    case "local":
      return privacy !== null && privacy.clip === clip && privacy.noise >= noise;
    case "examples":
      return (
        privacy !== null &&
        privacy.microbatch === microbatch &&
        privacy.example_clip === clip &&
        privacy.example_noise >= noise
      );
    case "distributed":
      return masking !== null && masking.clip === clip && masking.noise >= noise;
    case "central":
      return true;
  }
}
