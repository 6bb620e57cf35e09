/** Repeats a recorded run. */

import {
  type DataType,
  engine,
  type NamedTensorMap,
  type Tensor,
  type TensorInfo,
  util,
} from "@tensorflow/tfjs-core";
import type { Recording } from "../../recording/recorder";
import type { KernelCall, WasmKernel } from "../heap";
import type { RecordableBackend, RecordedTensors, TensorValues } from "./memory";

/** A part of a run. */
export type Action = () => void;

/** An input of the graph. */
export interface Slot {
  readonly name: string;
  readonly info: TensorInfo;
  /** JavaScript knows the value. */
  readonly isScalar: boolean;
}

/** Gives a kernel the tensors that it allocated when it was recorded, one after the other. */
class Player {
  readonly backend: RecordableBackend;
  #outputs: readonly TensorInfo[] = [];
  #next = 0;

  constructor(tensors: RecordedTensors) {
    const next = (shape: readonly number[], dtype: DataType, values?: TensorValues | null) => {
      const info = this.#outputs[this.#next++];
      // Some kernels give a tensor another shape once they filled it.
      if (info?.dtype !== dtype || util.sizeFromShape(info.shape) !== util.sizeFromShape([...shape]))
        throw new Error("A kernel allocates other tensors than when it was recorded.");
      tensors.renew(info);
      if (values) tensors.fill(info, values);
      return info;
    };
    const played: Partial<RecordableBackend> = {
      makeOutput: (shape, dtype, _address, values) => next(shape, dtype, values),
      write: (values, shape, dtype) => next(shape, dtype, values).dataId,
      disposeData: () => true,
      incRef: () => undefined,
    };
    this.backend = Object.assign(Object.create(tensors.backend), played);
  }

  start(outputs: readonly TensorInfo[]): void {
    this.#outputs = outputs;
    this.#next = 0;
  }
}

function withoutTensors(inputs: KernelCall["inputs"]): KernelCall["inputs"] {
  const bare = (input: TensorInfo | null | undefined) =>
    input ? { dataId: input.dataId, shape: input.shape, dtype: input.dtype } : input;
  const entries = Object.entries(inputs).map(([name, input]) => [name, bare(input)]);
  return Array.isArray(inputs)
    ? (entries.map(([, input]) => input) as unknown as KernelCall["inputs"])
    : Object.fromEntries(entries);
}

/** Writes the actions of a run. */
export class Script {
  readonly actions: Action[] = [];
  readonly #player: Player;

  constructor(private readonly tensors: RecordedTensors) {
    this.#player = new Player(tensors);
  }

  /** Adds a call of a kernel that allocated `outputs`, and gave `results`. */
  add(
    kernel: WasmKernel,
    { inputs, attrs }: KernelCall,
    outputs: readonly TensorInfo[],
    results: readonly TensorInfo[],
  ): void {
    const given = withoutTensors(inputs);
    const recorded = Object.values(given).filter((input) => input && this.tensors.has(input.dataId));
    const { backend } = this.#player;
    this.actions.push(() => {
      for (const input of recorded) this.tensors.renew(input);
      this.#player.start(outputs);
      const found = [kernel({ inputs: given, attrs, backend })].flat();
      if (results.some(({ dataId }, i) => found[i]?.dataId !== dataId))
        throw new Error("A kernel gives other tensors than when it was recorded.");
    });
  }
}

/** A recorded run. Owns its tensors. */
export class WasmRecording implements Recording {
  constructor(
    private readonly tensors: RecordedTensors,
    private readonly slots: readonly Slot[],
    /** The values of this run's scalars, by the number of their slot. */
    private readonly scalars: number[],
    private readonly actions: readonly Action[],
    private readonly outputs: readonly TensorInfo[],
  ) {}

  fits(feed: NamedTensorMap): boolean {
    return this.slots.every(({ name, info }) => {
      const value = feed[name];
      return value?.dtype === info.dtype && util.arraysEqual(value.shape, info.shape);
    });
  }

  replay(feed: NamedTensorMap): Tensor[] {
    this.slots.forEach(({ name, info, isScalar }, i) => {
      const value = feed[name] as Tensor;
      this.tensors.copy(value, info);
      if (isScalar) this.scalars[i] = value.dataSync()[0] as number;
    });
    for (const act of this.actions) act();
    return this.outputs.map((output) => copied(this.tensors, output));
  }

  dispose(): void {
    this.tensors.dispose();
  }
}

/** Returns a tensor of the backend with the values of a recorded one. */
export function copied(tensors: RecordedTensors, output: TensorInfo): Tensor {
  const info = tensors.backend.makeOutput(output.shape, output.dtype);
  tensors.copy(output, info);
  return engine().makeTensorFromTensorInfo(info);
}
