/** Chooses the backend: the requested one, or the fastest of those that work on this device. */

import { BACKEND_NAMES, type Backend } from "../../core/backend";
import type { Setup } from "../../core/backend-recovery";
import type { Bundle, TensorSpec } from "../../core/data/bundle";
import { elements, makeBatch } from "../../core/data/examples";
import { uniform } from "../../core/numerics/philox";
import { randomInputs } from "../../core/numerics/random-inputs";
import { later, UserError, type UserMessage } from "../../core/user-messages";
import { HealthWatch } from "../../engine/backend-health";
import { candidates, startBackend } from "../../engine/backends";
import type { BundleSource } from "../downloads/bundles";
import { disposeVariables, startVariables, TrainingStep } from "./step";

export interface Choice {
  readonly backend: Backend;
  /** Whether a step takes its batch in slices. */
  readonly sliced: boolean;
  readonly step: TrainingStep;
  /** Milliseconds of one step. */
  readonly stepMs: number;
}

/** Makes a batch of noise: the time of a step does not depend on the values. */
function noiseBatch(bundle: Bundle) {
  const rows = Uint32Array.from({ length: bundle.batch_size }, (_, i) => i);
  const column = ({ shape, dtype }: TensorSpec) => {
    const width = elements(shape);
    const count = bundle.batch_size * width;
    return { width, values: dtype === "int32" ? new Int32Array(count) : uniform(1, 1, 0, count) };
  };
  const sampleWeight = new Float32Array(rows.length).fill(1);
  const examples = {
    count: rows.length,
    x: bundle.inputs.map(column),
    y: bundle.labels.map(column),
    sampleWeight,
  };
  return { ...makeBatch(bundle, examples, rows), random: randomInputs(bundle, 1, 1) };
}

/**
 * Steps until one is as fast as later ones: the first compiles shaders and fills caches, the second may be recorded
 * (engine/recording).
 */
const TIMED_STEP = 3;

/** Returns the milliseconds of one step. */
export async function timeStep(bundle: Bundle, step: TrainingStep): Promise<number> {
  const { trainable, state } = bundle.parameters;
  let variables = startVariables(bundle, uniform(1, 1, 1, trainable + state));
  const batch = noiseBatch(bundle);
  const watch = new HealthWatch();
  let spent = 0;
  for (let number = 1; number <= TIMED_STEP; number++) {
    const begin = performance.now();
    const result = step.run(variables, batch, { step: number, pastSteps: 0, learningRate: 0.001 });
    variables = result.variables;
    await watch.read(result.report.data());
    spent = performance.now() - begin;
    result.report.dispose();
  }
  disposeVariables(variables);
  return spent;
}

async function attempt(backend: Backend, source: BundleSource, sliced: boolean): Promise<Choice | null> {
  if (!(await startBackend(backend))) return null;
  const step = await TrainingStep.load(source, sliced);
  try {
    return { backend, sliced, step, stepMs: await timeStep(source.bundle, step) };
  } catch (error) {
    step.dispose();
    throw error;
  }
}

/** Slices cost a little more in each step: they must be this much faster. */
const SLICES_GAIN = 0.9;

/**
 * Returns the better of whole batches and slices on one backend; null if neither works. `exact` takes whole batches:
 * slices add up in another order, which changes bits.
 */
async function attemptBoth(
  backend: Backend,
  source: BundleSource,
  sliced: boolean | null,
): Promise<Choice | null> {
  if (backend === "exact") return attempt(backend, source, false);
  if (sliced !== null || source.bundle.slice === null) return attempt(backend, source, sliced ?? false);
  // If a whole batch does not fit into memory, slices may.
  const whole = await attempt(backend, source, false).catch(() => null);
  const slices = await attempt(backend, source, true).catch(() => null);
  if (whole === null || slices === null) return whole ?? slices;
  const [faster, dropped] = slices.stepMs < SLICES_GAIN * whole.stepMs ? [slices, whole] : [whole, slices];
  dropped.step.dispose();
  return faster;
}

/** Returns the first of `backends` that works. A failing driver does not prevent the others from being tried. */
async function firstWorking(
  backends: readonly Backend[],
  source: BundleSource,
  { avoid, sliced }: Setup,
): Promise<Choice | null> {
  for (const backend of backends) {
    if (avoid.includes(backend)) continue;
    const choice = await attemptBoth(backend, source, sliced).catch(() => null);
    if (choice !== null) return choice;
  }
  return null;
}

async function fastest(source: BundleSource, setup: Setup): Promise<Choice | null> {
  let best: Choice | null = null;
  for (const backend of await candidates()) {
    const preferred: readonly Backend[] =
      backend === "wasm" && setup.preferExact ? ["exact", backend] : [backend];
    const choice = await firstWorking(preferred, source, setup);
    if (choice === null) continue;
    if (best !== null && best.stepMs <= choice.stepMs) {
      choice.step.dispose();
      continue;
    }
    best?.step.dispose();
    best = choice;
  }
  return best;
}

function unable(requested: Backend): UserMessage {
  return requested === "exact"
    ? later(
        "The same bits need WebAssembly with SIMD, which this browser lacks; take a current Firefox, Chrome or Safari.",
      )
    : later("This browser cannot train with %(backend)s. Choose “The fastest that works” under Advanced.", {
        backend: BACKEND_NAMES[requested],
      });
}

/**
 * Loads the training graphs on the requested backend, or on the fastest of those that work and did not fail before.
 */
export async function chooseBackend(setup: Setup, source: BundleSource): Promise<Choice> {
  const { backend: requested, sliced } = setup;
  if (requested !== null) {
    const choice = await attemptBoth(requested, source, sliced);
    if (choice === null)
      throw new UserError(unable(requested), { lasting: !(await startBackend(requested)) });
    return choice;
  }
  const choice = (await fastest(source, setup)) ?? (await attemptBoth("cpu", source, sliced));
  if (choice === null)
    throw new Error(later("No backend works in this browser; try a current Firefox, Chrome or Safari."));
  await startBackend(choice.backend);
  return choice;
}
