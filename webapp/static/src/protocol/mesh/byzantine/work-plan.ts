/**
 * Everyone's work in a round, as the coin draws it: a pure function of what all members agreed on. The twin is in
 * backend/protocols/mesh/byzantine/drawn_work.py.
 */

import type { Train } from "../../rounds/participant-events";
import type { ByzantineRules } from "../../wire/mesh";
import { drawnNumber } from "./drawn-work";
import type { AgreedState } from "./state";

/** Seeds are whole numbers below this in both languages. */
const SEEDS = 2 ** 31;

/**
 * Returns the work of `client` in the round after `state`: whole steps without a deadline, on one of the public shards,
 * of which the seed draws the rows.
 */
export function planOf(rules: ByzantineRules, state: AgreedState, client: string): Train {
  const { coin, round, weights } = state;
  const { shards, steps } = rules;
  const shard = shards[drawnNumber(coin, "shard", client, shards.length)] as (typeof shards)[number];
  return {
    type: "train",
    round: round + 1,
    version: 0,
    weights,
    epochs: 0,
    steps,
    batch_size: rules.batch_size,
    learning_rate: rules.learning_rate,
    past_steps: round * steps,
    seed: drawnNumber(coin, "seed", client, SEEDS),
    proximal_mu: 0,
    control: null,
    masking: null,
    privacy: null,
    shards: [shard],
    seconds: 0,
  };
}
