/** Translates the server's unit into the training worker's plan. */

import type { TrainingPlan } from "../../core/messages/training";
import type { Unit } from "../../protocol/units/unit-client-events";

/**
 * Returns the worker's plan; `own` are the client's own last weights, if it has any. With `checkpoints` a result that
 * turns out to be wrong tells at which step.
 */
export function unitPlan(unit: Unit, own: ArrayBuffer | null, checkpoints: boolean): TrainingPlan {
  const { lease, first, examples, start } = unit;
  const elasticity = start === "elastic" ? unit.elasticity : 0;
  return {
    seed: unit.seed,
    epochs: unit.epochs,
    steps: unit.steps,
    batchSize: unit.batch_size,
    learningRate: unit.learning_rate,
    pastSteps: unit.past_steps,
    firstStep: unit.first_step,
    proximalMu: unit.proximal_mu,
    control: null,
    privacy: null,
    protection: null,
    // There is no deadline: a slow client reports that it is active by its heartbeats.
    until: null,
    shards: [unit.shard.sha256],
    unit: {
      lease,
      rows: { first, count: examples },
      start: start === "given" || own === null ? null : { own, elasticity },
      checkpoints,
    },
  };
}
