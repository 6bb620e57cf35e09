import type { Backend } from "../../../../../webapp/static/src/core/backend";
import {
  disposeVariables,
  startVariables,
  TrainingStep,
} from "../../../../../webapp/static/src/workers/training/step";
import { fetchFloats, fetchInputs, openFolder, prepare } from "../files";

interface Wanted {
  readonly base: string;
  readonly backend: Backend;
}

/** Loss, then numerators and denominators of the metrics, of each step. */
export async function reports({ base, backend }: Wanted): Promise<{ reports: number[][] }> {
  await prepare(backend);
  const source = await openFolder(base);
  const step = await TrainingStep.load(source);
  let variables = startVariables(source.bundle, await fetchFloats(`${base}/weights.bin`));
  const moment = { learningRate: source.bundle.optimizer.learning_rate, pastSteps: 0 };
  const all: number[][] = [];
  for (const [i, batch] of (await fetchInputs(base, source.bundle)).entries()) {
    const result = step.run(variables, batch, { ...moment, step: i + 1 });
    variables = result.variables;
    all.push(Array.from(await result.report.data()));
    result.report.dispose();
  }
  disposeVariables(variables);
  step.dispose();
  return { reports: all };
}
