/** From the server's plan to the training worker's. */

import type { ControlVariates, ExampleClip, Protection, TrainingPlan } from "../../core/messages/training";
import type { Train } from "../../protocol/rounds/participant-events";

/** What a plan's privacy asks of the whole update, if anything; a masked one is clipped while it is masked. */
function protectionOf({ privacy, masking }: Train): Protection | null {
  if (!privacy?.clip || masking !== null) return null;
  return { clip: privacy.clip, noise: privacy.noise };
}

/** What a plan's privacy asks of each step, if anything. */
function exampleClip(privacy: Train["privacy"]): ExampleClip | null {
  if (!privacy?.microbatch) return null;
  return { clip: privacy.example_clip, noise: privacy.example_noise, microbatch: privacy.microbatch };
}

/** What the worker has to do until `until` (milliseconds of `clock`). */
export function workerPlan(plan: Train, control: ControlVariates | null, until: number): TrainingPlan {
  return {
    seed: plan.seed,
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
