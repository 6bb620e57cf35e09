/** One model on one backend: the numbers that are compared with Keras' own. */

import { dispose, tidy } from "@tensorflow/tfjs-core";
import type { Backend } from "../../../../../webapp/static/src/core/backend";
import {
  disposeVariables,
  flatVector,
  startVariables,
  TrainingStep,
} from "../../../../../webapp/static/src/workers/training/step";
import { fetchFloats, fetchInputs, openFolder, prepare } from "../files";

interface Wanted {
  readonly base: string;
  readonly backend: Backend;
}

/** Gradient of the first step; reports of all ten; flat vector after them. */
export async function conformance({ base, backend }: Wanted) {
  await prepare(backend);
  const source = await openFolder(base);
  const { bundle } = source;
  const batches = await fetchInputs(base, bundle);
  const weights = await fetchFloats(`${base}/weights.bin`);
  const step = await TrainingStep.load(source);
  let variables = startVariables(bundle, weights);
  const learningRate = bundle.optimizer.learning_rate;
  const moment = { learningRate, pastSteps: 0 };

  const [first] = batches;
  if (first === undefined) throw new Error("The reference holds no batches.");
  const gradient = tidy(() => step.gradient(variables, first).gradient);
  const gradientValues = Array.from(await gradient.data());
  gradient.dispose();

  const reports: number[][] = [];
  for (const [i, batch] of batches.entries()) {
    const result = step.run(variables, batch, { ...moment, step: i + 1 });
    variables = result.variables;
    reports.push(Array.from(await result.report.data()));
    result.report.dispose();
  }
  const vector = tidy(() => flatVector(variables));
  const vectorValues = Array.from(await vector.data());
  dispose(vector);
  disposeVariables(variables);
  step.dispose();
  return { gradient: gradientValues, reports, vector: vectorValues };
}
