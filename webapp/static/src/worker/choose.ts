/** Chooses the backend: the wanted one, or the fastest of those that work here. */

import type { Bundle, TensorSpec } from "../shared/bundle";
import { uniform } from "../shared/philox";
import { elements, makeBatch } from "../shared/preprocess";
import type { Backend } from "../shared/worker-messages";
import { candidates, startBackend } from "./backends";
import type { BundleSource } from "./bundles";
import { disposeVariables, startVariables, TrainingStep } from "./step";

export interface Choice {
  readonly backend: Backend;
  readonly step: TrainingStep;
  /** Milliseconds that one step took. */
  readonly stepMs: number;
}

/** A batch of noise: what a step costs does not depend on the numbers. */
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
  return makeBatch(bundle, examples, rows);
}

/** Milliseconds of one step; the step before it compiles shaders and fills caches. */
export async function timeStep(bundle: Bundle, step: TrainingStep): Promise<number> {
  const { trainable, state } = bundle.parameters;
  let variables = startVariables(bundle, uniform(1, 1, 1, trainable + state));
  const batch = noiseBatch(bundle);
  let spent = 0;
  for (const number of [1, 2]) {
    const begin = performance.now();
    const result = step.run(variables, batch, { seed: 1, step: number, pastSteps: 0, learningRate: 0.001 });
    variables = result.variables;
    await result.report.data();
    spent = performance.now() - begin;
    result.report.dispose();
  }
  disposeVariables(variables);
  return spent;
}

async function attempt(backend: Backend, source: BundleSource): Promise<Choice | null> {
  if (!(await startBackend(backend))) return null;
  const step = await TrainingStep.load(source);
  return { backend, step, stepMs: await timeStep(source.bundle, step) };
}

async function fastest(source: BundleSource): Promise<Choice | null> {
  let best: Choice | null = null;
  for (const backend of await candidates()) {
    // A driver that fails must not keep the others from trying.
    const choice = await attempt(backend, source).catch(() => null);
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

/** Loads the training graphs on `wanted`, or on the fastest backend if that is null. */
export async function chooseBackend(wanted: Backend | null, source: BundleSource): Promise<Choice> {
  if (wanted !== null) {
    const choice = await attempt(wanted, source);
    if (choice === null) throw new Error(`This browser cannot train with ${wanted}; choose another backend.`);
    return choice;
  }
  const choice = (await fastest(source)) ?? (await attempt("cpu", source));
  if (choice === null)
    throw new Error("No backend works in this browser; try a current Firefox, Chrome or Safari.");
  await startBackend(choice.backend);
  return choice;
}
