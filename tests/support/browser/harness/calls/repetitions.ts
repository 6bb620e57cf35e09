/** A training whose steps repeat a recording, beside one whose steps the executor runs. */

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

/** Whether both trainings gave the same bits after each step, and which graphs were recorded. */
export async function repetitions({ base, backend }: Wanted) {
  await prepare(backend);
  const source = await openFolder(base);
  const { bundle } = source;
  const batches = await fetchInputs(base, bundle);
  const weights = await fetchFloats(`${base}/weights.bin`);
  const learningRate = bundle.optimizer.learning_rate;

  const train = async (isObserved: boolean) => {
    const step = await TrainingStep.load(source);
    const { train, apply } = step.traceable;
    // What is observed is executed op by op.
    if (isObserved) for (const graph of [train, apply]) graph.observer = () => undefined;
    let variables = startVariables(bundle, weights);
    const vectors: Float32Array[] = [];
    const reports: Float32Array[] = [];
    for (const [i, batch] of batches.entries()) {
      const result = step.run(variables, batch, { learningRate, pastSteps: 3, step: i + 1 });
      variables = result.variables;
      const vector = tidy(() => flatVector(variables));
      vectors.push((await vector.data()) as Float32Array);
      reports.push((await result.report.data()) as Float32Array);
      dispose([vector, result.report]);
    }
    disposeVariables(variables);
    const recorded = { train: train.isRecorded, apply: apply.isRecorded };
    step.dispose();
    return { vectors, reports, recorded };
  };

  const [repeated, executed] = [await train(false), await train(true)];
  const bits = (values: Float32Array | undefined) =>
    String(new Uint32Array(Float32Array.from(values ?? []).buffer));
  const differing = batches.flatMap((_, i) => {
    const [one, other] = [repeated, executed].map((run) => bits(run.vectors[i]) + bits(run.reports[i]));
    return one === other ? [] : [i + 1];
  });
  return { differing, recorded: repeated.recorded, executed: executed.recorded };
}
