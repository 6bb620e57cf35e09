/** Runs a graph so that the values of all of its nodes can be read, which takes more memory and time. */

import type { GraphModel } from "@tensorflow/tfjs-converter";
import { env, type NamedTensorMap, type Tensor } from "@tensorflow/tfjs-core";

/** One run of a graph. Its tensors live as long as the observer's call. */
export interface GraphRun {
  /** Inputs and outputs by the names of their nodes. */
  readonly feed: NamedTensorMap;
  readonly outputs: NamedTensorMap;
  /** The outputs of every node, constants among them, in the order in which they were computed. */
  readonly values: Readonly<Record<string, Tensor[]>>;
}

export type GraphObserver = (run: GraphRun) => void;

const KEEP = "KEEP_INTERMEDIATE_TENSORS";

export function execute(model: GraphModel, feed: NamedTensorMap, names: string[]): Tensor[] {
  const outputs = model.execute(feed, names) as Tensor | Tensor[];
  return Array.isArray(outputs) ? outputs : [outputs];
}

/** Executes the graph and calls the observer before the values are disposed. */
export function executeObserved(
  model: GraphModel,
  feed: NamedTensorMap,
  names: string[],
  observer: GraphObserver,
): Tensor[] {
  env().set(KEEP, true);
  try {
    const list = execute(model, feed, names);
    const outputs = Object.fromEntries(names.map((name, i) => [name, list[i] as Tensor]));
    observer({ feed, outputs, values: model.getIntermediateTensors() });
    return list;
  } finally {
    env().set(KEEP, false);
    model.disposeIntermediateTensors();
  }
}
