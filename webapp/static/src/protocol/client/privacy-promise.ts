/**
 * Checks that a server keeps to what its Welcome promised; the twin is backend/protocols/client/privacy_promise.py.
 *
 * Clients mask, clip and add noise as a plan says, so that a server could leave the noise out of a plan: what a client
 * was told when it joined is the least that it does, for the life of its process or page.
 */

import { later } from "../../core/user-messages";
import { mostSharers } from "../secagg/terms";
import type { FrameOf } from "../wire/messages";

type Welcome = FrameOf<"welcome">;
type Train = FrameOf<"train">;
type PrivacyTerms = NonNullable<Welcome["privacy"]>;
type AggregationTerms = NonNullable<Welcome["masking"]>;

// The client leaves a server that breaks the agreement: it could learn what was to stay hidden.
export const BROKEN_WORD = later(
  "The server asks for updates in a different form than agreed, so this client left it.",
);
const BROKEN_PROMISE = later(
  "The server protects updates less than it promised when this client joined, so this client left it. If the new terms suit you, reload the page or start the client again.",
);
const OTHER_MODEL = later(
  "The task has another model than when this client joined, so this client left it. Reload the page or start the client again to train the new one.",
);
const TOO_LITTLE_NOISE = later(
  "In this task devices add less noise to what they send than you ask for, or none, so this client left it. Ask for less, or choose another task.",
);
const EMPTY_TERMS = later(
  "The server promises privacy in terms that protect nothing, such as a clip of 0, so this client left it. Choose another task.",
);

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
  if (!isMeaningful(welcome)) return EMPTY_TERMS;
  if (promised?.aggregation === "masked" && welcome.aggregation !== "masked") return BROKEN_WORD;
  if (promised !== null && pinsModel(promised) && promised.bundle !== welcome.bundle) return OTHER_MODEL;
  if (promised !== null && isWeaker(welcome, promised)) return BROKEN_PROMISE;
  return noiseOfClients(welcome) >= minNoise ? null : TOO_LITTLE_NOISE;
}

/** Returns why a client with `examples` of its own leaves a server for this plan, null if it trains by it. */
export function planObjection(plan: Train, promised: Welcome, examples: number): string | null {
  if ((plan.masking !== null) !== (promised.aggregation === "masked")) return BROKEN_WORD;
  const kept = masksAlike(plan.masking, promised.masking) && keepsNoise(plan, promised, examples);
  return kept ? null : BROKEN_PROMISE;
}

/** Whether nothing exact about a client's own examples may leave it: masks or noise are promised. */
export function hidesExamples(promised: Welcome | null): boolean {
  return promised !== null && (promised.aggregation === "masked" || promised.privacy !== null);
}

/**
 * Returns the noise that a client adds itself at least, as a multiple of the clip; 0 if the server does. In
 * `distributed` that is its own share: clients that the server invents add none.
 */
function noiseOfClients({ privacy, masking }: Welcome): number {
  if (privacy === null || privacy.mechanism === "central" || !addsNoise(privacy)) return 0;
  return privacy.mechanism === "distributed" ? ownShare(privacy.noise, masking) : privacy.noise;
}

/** Returns a client's share of the noise on a masked sum, in a round of as many clients as there can be. */
function ownShare(noise: number, masking: AggregationTerms | null): number {
  return masking === null ? 0 : noise / Math.sqrt(mostSharers(masking.min_clients, masking.server));
}

/** Whether the terms are amounts by which updates are really masked, and noise is really added. */
function isMeaningful({ aggregation, masking, privacy }: Welcome): boolean {
  if ((masking !== null) !== (aggregation === "masked")) return false;
  return (masking === null || isClip(masking.clip)) && (privacy === null || addsNoise(privacy));
}

/** Whether noise by these terms is really added: scaled by the clip, and to microbatches of few visits. */
function addsNoise({ mechanism, clip, noise, delta, microbatch, visits }: PrivacyTerms): boolean {
  const isAmount = noise >= 0 && noise <= LARGEST_CLIP && delta > 0 && delta < 1;
  return isClip(clip) && isAmount && (Math.min(microbatch, visits) > 0 || mechanism !== "examples");
}

function isClip(clip: number): boolean {
  return clip >= SMALLEST_CLIP && clip <= LARGEST_CLIP;
}

/** Whether a client hides its update: what masks or noise leave of that depends on the model's graphs. */
function pinsModel(promised: Welcome): boolean {
  return promised.aggregation === "masked" || noiseOfClients(promised) > 0;
}

/** Whether `welcome` protects less than what was `promised`. */
function isWeaker(welcome: Welcome, promised: Welcome): boolean {
  return !(
    masksAlike(welcome.masking, promised.masking) &&
    noisesAlike(welcome.privacy, promised.privacy) &&
    noiseOfClients(welcome) >= noiseOfClients(promised)
  );
}

/** Whether masked rounds protect as promised, or better. */
function masksAlike(masking: AggregationTerms | null, promised: AggregationTerms | null): boolean {
  if (promised === null) return true;
  return (
    masking !== null &&
    masking.clip === promised.clip &&
    masking.min_clients >= promised.min_clients &&
    (masking.server === "active" || promised.server === "honest")
  );
}

/** Whether `terms` have as much noise as those `promised`, and the same of what noise is measured by. */
function noisesAlike(terms: PrivacyTerms | null, promised: PrivacyTerms | null): boolean {
  if (promised === null) return true;
  if (terms === null) return false;
  const { mechanism, clip, microbatch, visits, noise, delta } = promised;
  const alike = terms.mechanism === mechanism && terms.clip === clip && terms.microbatch === microbatch;
  return alike && terms.visits <= visits && terms.noise >= noise && terms.delta <= delta;
}

/** Whether a client that trains by this plan clips and adds noise as it was `promised`, or adds more. */
function keepsNoise(plan: Train, promised: Welcome, examples: number): boolean {
  const { privacy, masking } = plan;
  const terms = promised.privacy;
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
        privacy.example_noise >= noise &&
        visitsOf(plan, examples) <= terms.visits
      );
    case "distributed":
      return (
        masking !== null &&
        masking.clip === clip &&
        masking.noise >= noise &&
        ownShare(masking.noise, masking) >= noiseOfClients(promised)
      );
    case "central":
      return true;
  }
}

/** Returns how often a plan visits one of a client's own examples; infinity for examples of others. */
function visitsOf({ shards, epochs, steps, batch_size }: Train, examples: number): number {
  if (shards.length > 0 || batch_size === 0) return Number.POSITIVE_INFINITY;
  return Math.ceil(steps / Math.ceil(Math.max(1, examples) / batch_size)) || epochs;
}
