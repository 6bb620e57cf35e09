/** Units, and machines that hold them, for tests. */

import {
  handle,
  INITIAL,
  type UnitClientState,
} from "../../../../../webapp/static/src/protocol/units/unit-client";
import type {
  Unit,
  UnitClientEvent,
} from "../../../../../webapp/static/src/protocol/units/unit-client-events";

const HASH = "a".repeat(64);

export function unitOf(lease: number, change: Partial<Unit> = {}): Unit {
  return {
    type: "unit",
    lease,
    unit: 10 + lease,
    epoch: 3,
    shard: { sha256: HASH, examples: 64 },
    first: 16,
    examples: 32,
    base: 5,
    weights: "b".repeat(64),
    epochs: 1,
    steps: 0,
    batch_size: 8,
    learning_rate: 0.1,
    past_steps: 0,
    seed: 7,
    proximal_mu: 0,
    start: "given",
    elasticity: 0,
    seconds: 60,
    heartbeat: 20,
    first_step: 0,
    ...change,
  };
}

const ENLIST = {
  type: "enlist",
  token: "t".repeat(43),
  kind: "browser",
  backend: "auto",
  agent: "test",
  shards: [],
} as const;

const BEGINNING: readonly UnitClientEvent[] = [
  { type: "start", enlist: ENLIST, slots: 2, at_once: 1 },
  { type: "connected" },
  {
    type: "frame",
    frame: {
      type: "enlisted",
      task: "digits",
      client: "c".repeat(16),
      bundle: HASH,
      chunk_bytes: 1024,
      offline: 3600,
    },
  },
  { type: "loaded", backend: "wasm", step_ms: 5, program: null },
];

/** The machine after these events, of a client that is ready. */
export function ready(...events: readonly UnitClientEvent[]): UnitClientState {
  return [...BEGINNING, ...events].reduce((state, event) => handle(state, event).state, INITIAL);
}

/** The server gave this unit. */
export const given = (unit: Unit): UnitClientEvent => ({ type: "frame", frame: unit });

/** The result of `lease` is ready. */
export const trained = (lease: number): UnitClientEvent => ({
  type: "trained",
  lease,
  size: 8,
  examples: 32,
  steps: 4,
  loss: 0.5,
  sums: [],
  commitment: null,
  checkpoints: [],
  salt: null,
});
