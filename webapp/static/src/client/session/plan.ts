/** Translates the server's plan into the training worker's. */

import type { ControlVariates, ExampleClip, Protection, TrainingPlan } from "../../core/messages/training";
import type { Train } from "../../protocol/rounds/participant-events";

/** Returns the privacy of the whole update that a plan asks for, or null; under masks, too. */
function protectionOf({ privacy }: Train): Protection | null {
  if (privacy === null || !(privacy.clip > 0)) return null;
  return { clip: privacy.clip, noise: privacy.noise };
}

/** Returns the privacy of each step that a plan asks for, or null. */
function exampleClip(privacy: Train["privacy"]): ExampleClip | null {
  if (!privacy?.microbatch) return null;
  return { clip: privacy.example_clip, noise: privacy.example_noise, microbatch: privacy.microbatch };
}

/**
 * Returns the seed of a plan's training, which orders the examples. In a masked round the client draws it: a server
 * that knew it could have an update made again, and compare the sums in which it is.
 */
export function trainingSeed({ seed, masking }: Train): number {
  if (masking === null) return seed;
  const [drawn = 0] = crypto.getRandomValues(new Uint32Array(1));
  return drawn >>> 1;
}

/** Returns the worker's plan, to be finished by `until` (milliseconds of `clock`). */
export function workerPlan(plan: Train, control: ControlVariates | null, until: number): TrainingPlan {
  return {
    seed: trainingSeed(plan),
    epochs: plan.epochs,
    steps: plan.steps,
    batchSize: plan.batch_size,
    learningRate: plan.learning_rate,
    pastSteps: plan.past_steps,
    proximalMu: plan.proximal_mu,
    control,
    privacy: exampleClip(plan.privacy),
    protection: protectionOf(plan),
    until,
    shards: plan.shards.map(({ sha256 }) => sha256),
    unit: null,
  };
}
