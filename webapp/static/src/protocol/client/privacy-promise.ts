/**
 * Checks that a server keeps to what its Welcome promised; the twin is backend/protocols/client/privacy_promise.py.
 *
 * Clients mask, clip and add noise as a plan says, so that a server could leave the noise out of a plan: what a client
 * was told when it joined is the least that it does, for the life of its process or page.
 */

import type { FrameOf } from "../wire/messages";

type Welcome = FrameOf<"welcome">;
type Train = FrameOf<"train">;
type PrivacyTerms = NonNullable<Welcome["privacy"]>;

// The client leaves a server that breaks the agreement: it could learn what was to stay hidden.
export const BROKEN_WORD =
  "The server asks for updates in another way than was agreed on, so this client left it.";
const BROKEN_PROMISE =
  "The server asks for an update with less noise, or another clip, than it promised when this client joined, so this " +
  "client left it. If the new terms suit you, reload the page or start the client again.";
const TOO_LITTLE_NOISE =
  "In this task devices add less noise to what they send than you ask for, or none, so this client left it. Ask for " +
  "less, or choose another task.";
const EMPTY_TERMS =
  "The server promises privacy in terms that protect nothing, such as a clip of 0, so this client left it. Choose " +
  "another task.";

// Updates and noise are float32, which rounds smaller amounts to 0 and has no room for larger ones.
const SMALLEST_CLIP = 1e-20;
const LARGEST_CLIP = 1e20;

/**
 * Returns why a client leaves a server that says `welcome`, null if it stays. `promised` is what the server said
 * before; the client adds noise of `minNoise` times the clip or more.
 */
export function welcomeObjection(
  welcome: Welcome,
  promised: Welcome | null,
  minNoise: number,
): string | null {
  const terms = welcome.privacy;
  if (terms !== null && !isMeaningful(terms)) return EMPTY_TERMS;
  if (promised?.aggregation === "masked" && welcome.aggregation !== "masked") return BROKEN_WORD;
  if (promised !== null && isWeaker(terms, promised.privacy)) return BROKEN_PROMISE;
  return noiseOfClients(welcome) >= minNoise ? null : TOO_LITTLE_NOISE;
}

/** Returns why a client leaves a server for this plan, null if it trains by it. */
export function planObjection(plan: Train, promised: Welcome): string | null {
  if ((plan.masking !== null) !== (promised.aggregation === "masked")) return BROKEN_WORD;
  return keepsNoise(plan, promised.privacy) ? null : BROKEN_PROMISE;
}

/** Whether nothing exact about a client's own examples may leave it: masks or noise are promised. */
export function hidesExamples(promised: Welcome | null): boolean {
  return promised !== null && (promised.aggregation === "masked" || promised.privacy !== null);
}

/** Returns the noise that clients add themselves, as a multiple of the clip; 0 if the server adds it. */
export function noiseOfClients({ privacy }: Welcome): number {
  if (privacy === null || privacy.mechanism === "central" || !isMeaningful(privacy)) return 0;
  return privacy.noise;
}

/** Whether noise by these terms is really added: it is scaled by the clip, and goes to microbatches. */
function isMeaningful({ mechanism, clip, noise, delta, microbatch }: PrivacyTerms): boolean {
  return (
    clip >= SMALLEST_CLIP &&
    clip <= LARGEST_CLIP &&
    noise >= 0 &&
    noise <= LARGEST_CLIP &&
    delta > 0 &&
    delta < 1 &&
    (microbatch > 0 || mechanism !== "examples")
  );
}

/** Whether `terms` have less noise than those `promised`, or other ones of what noise is measured by. */
function isWeaker(terms: PrivacyTerms | null, promised: PrivacyTerms | null): boolean {
  if (promised === null) return false;
  if (terms === null) return true;
  const { mechanism, clip, microbatch, noise, delta } = promised;
  const alike = terms.mechanism === mechanism && terms.clip === clip && terms.microbatch === microbatch;
  return !(alike && terms.noise >= noise && terms.delta <= delta);
}

/** Whether a client that trains by this plan clips and adds noise as `terms` say, or adds more noise. */
function keepsNoise({ privacy, masking }: Train, terms: PrivacyTerms | null): boolean {
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
