/** The most bytes of tensors that live at once in a step, as TF.js counts them. */

import { memory, profile } from "@tensorflow/tfjs-core";
import type { Backend } from "../../../../../webapp/static/src/core/backend";
import {
  disposeVariables,
  startVariables,
  TrainingStep,
} from "../../../../../webapp/static/src/workers/training/step";
import { fetchFloats, openFolder, prepare } from "../files";
import { noiseBatch } from "./speed";

export async function peakBytes({ base, backend }: { readonly base: string; readonly backend: Backend }) {
  await prepare(backend);
  const before = memory().numBytes;
  const source = await openFolder(base);
  const step = await TrainingStep.load(source);
  const batch = noiseBatch(source.bundle);
  let variables = startVariables(source.bundle, await fetchFloats(`${base}/weights.bin`));
  const { peakBytes: peak } = await profile(() => {
    const result = step.run(variables, batch, { step: 1, pastSteps: 0, learningRate: 0.001 });
    variables = result.variables;
    return result.report;
  });
  disposeVariables(variables);
  step.dispose();
  return { peak: peak - before };
}
