/**
 * Records runs of graphs on the WASM backend: which kernels ran on which places in memory. Calls of the compiled kernels
 * are repeated as such; other kernels run again as a whole, on the same tensors.
 */

import {
  type DataType,
  engine,
  getKernelsForBackend,
  type NamedTensorMap,
  type Tensor,
  type TensorInfo,
} from "@tensorflow/tfjs-core";
import { isPinned } from "../../constant-inputs";
import { mostBytes } from "../../memory-limit";
import type { GraphRunner, Recorder } from "../../recording/recorder";
import { logValues, type Numbers, type ValueLog } from "../../recording/values";
import type { KernelCall, WasmBackend, WasmKernel } from "../heap";
import type { Machine, MachineLog } from "../simd/kernel-module";
import { type RecordableBackend, RecordedTensors, type TensorValues } from "./memory";
import { type Action, copied, Script, type Slot, WasmRecording } from "./replay";

/**
 * The part of the memory for tensors that a recording may take. A larger run keeps what others need between its steps,
 * and its time is that of its kernels.
 */
const SHARE = 1 / 8;

function cannotRepeat(what: string): never {
  throw new Error(`A run that ${what} cannot be repeated.`);
}

/** A kernel's call while it is recorded. */
interface OpenCall {
  /** Only compiled kernels have computed so far. */
  isCompiled: boolean;
  readonly outputs: TensorInfo[];
  readonly actions: Action[];
}

/** One run that is recorded. */
class RecordedRun implements MachineLog, ValueLog {
  readonly tensors: RecordedTensors;
  readonly scalars: number[] = [];
  readonly #script: Script;
  readonly #slots: Slot[] = [];
  #call: OpenCall | null = null;

  constructor(
    private readonly machine: Machine,
    private readonly compiled: ReadonlySet<string>,
    backend: RecordableBackend,
  ) {
    this.tensors = new RecordedTensors(backend, SHARE * mostBytes());
    this.#script = new Script(this.tensors);
  }

  /** Runs the graph on inputs in the recording's memory. The caller owns the outputs. */
  run(feed: NamedTensorMap, run: GraphRunner): { outputs: Tensor[]; recording: WasmRecording } {
    const inputs = Object.fromEntries(
      Object.entries(feed).map(([name, value], i) => [name, this.#slot(name, value, i)]),
    );
    const restore = this.#listen();
    let found: Tensor[];
    try {
      found = run(inputs);
      for (const tensor of [...found, ...Object.values(inputs)]) {
        if (this.tensors.has(tensor.dataId)) tensor.dispose();
      }
    } finally {
      restore();
    }
    const infos = found.map(({ dataId, shape, dtype }) => ({ dataId, shape, dtype }));
    const outputs = infos.map((info) => copied(this.tensors, info));
    const { actions } = this.#script;
    return { outputs, recording: new WasmRecording(this.tensors, this.#slots, this.scalars, actions, infos) };
  }

  // What the machine reports.

  block(bytes: number): number {
    return this.tensors.block(bytes);
  }

  ran(action: Action): void {
    this.#call?.actions.push(action);
  }

  passedOn(): void {
    if (this.#call !== null) this.#call.isCompiled = false;
  }

  // What JavaScript computes.

  reader(scalar: Tensor): (() => number) | undefined {
    const index = this.#slots.findIndex(({ info, isScalar }) => isScalar && info.dataId === scalar.dataId);
    return index < 0 ? undefined : () => this.scalars[index] as number;
  }

  refill({ dataId, shape, dtype }: Tensor, numbers: Numbers): void {
    const info = { dataId, shape, dtype };
    this.#script.actions.push(() => this.tensors.fill(info, valuesOf(dtype, numbers())));
  }

  #slot(name: string, value: Tensor, index: number): Tensor {
    const info = this.tensors.allocate(value.shape, value.dtype, true);
    this.tensors.copy(value, info);
    const isScalar = isPinned(value);
    this.#slots.push({ name, info, isScalar });
    const tensor = engine().makeTensorFromTensorInfo(info);
    if (isScalar) this.scalars[index] = value.dataSync()[0] as number;
    return tensor;
  }

  /** Takes part in all that the backend does; returns a function that ends this. */
  #listen(): () => void {
    const { backend } = this.tensors;
    const configs = getKernelsForBackend("wasm") as { kernelName: string; kernelFunc: unknown }[];
    const kernels = configs.map((config) => config.kernelFunc);
    for (const config of configs) {
      config.kernelFunc = this.#recorded(config.kernelName, config.kernelFunc as WasmKernel);
    }
    const methods = this.#methods();
    const before = Object.keys(methods).map(
      (name) => [name, Object.getOwnPropertyDescriptor(backend, name)] as const,
    );
    Object.assign(backend, methods);
    this.machine.report(this);
    logValues(this);
    return () => {
      logValues(null);
      this.machine.report(null);
      for (const [name, own] of before) {
        if (own) Object.defineProperty(backend, name, own);
        else Reflect.deleteProperty(backend, name);
      }
      configs.forEach((config, i) => {
        config.kernelFunc = kernels[i];
      });
    };
  }

  /** The kernel, which records its outermost calls. */
  #recorded(name: string, kernel: WasmKernel): WasmKernel {
    return (given) => {
      if (this.#call !== null) {
        this.#call.isCompiled &&= this.compiled.has(name);
        return kernel(given);
      }
      const call: OpenCall = {
        isCompiled: this.compiled.has(name),
        outputs: [],
        actions: [],
      };
      this.#call = call;
      const result = kernel(given);
      this.#call = null;
      this.#close(call, kernel, given, [result].flat());
      return result;
    };
  }

  #close(call: OpenCall, kernel: WasmKernel, given: KernelCall, results: readonly TensorInfo[]): void {
    if (call.isCompiled) this.#script.actions.push(...call.actions);
    // Without memory of its own it only gave a tensor another shape.
    else if (call.outputs.length > 0) this.#script.add(kernel, given, call.outputs, results);
  }

  /** The backend's methods while a run is recorded. */
  #methods(): Partial<RecordableBackend> {
    const { backend } = this.tensors;
    const disposeData = backend.disposeData.bind(backend);
    const reading = <Method extends "readSync" | "typedArrayFromHeap">(name: Method) => {
      const read = (backend[name] as (...given: unknown[]) => unknown).bind(backend);
      return ((...given: unknown[]) => {
        if (this.#call === null) cannotRepeat("reads values");
        this.#call.isCompiled = false;
        return read(...given);
      }) as RecordableBackend[Method];
    };
    return {
      makeOutput: (shape, dtype, address, values) => this.#made(shape, dtype, address, values),
      write: (values, shape, dtype) => this.#made(shape, dtype, undefined, values).dataId,
      move: () => cannotRepeat("moves tensors between backends"),
      readSync: reading("readSync"),
      typedArrayFromHeap: reading("typedArrayFromHeap"),
      disposeData: (id, force = false) =>
        this.tensors.has(id) ? this.tensors.release(id, force) : disposeData(id, force),
    };
  }

  #made(
    shape: readonly number[],
    dtype: DataType,
    address?: number,
    values?: TensorValues | null,
  ): TensorInfo {
    if (address !== undefined && address !== null) cannotRepeat("has memory of a kernel's own");
    // Outside of a kernel's call nothing writes the values again.
    const info = this.tensors.allocate(shape, dtype, this.#call === null);
    if (values) this.tensors.fill(info, values);
    if (this.#call !== null) {
      this.#call.outputs.push(info);
      // Only the kernel as a whole writes them again.
      if (values) this.#call.isCompiled = false;
    }
    return info;
  }
}

function valuesOf(dtype: DataType, numbers: readonly number[]): TensorValues {
  if (dtype === "bool") return Uint8Array.from(numbers);
  return dtype === "int32" ? Int32Array.from(numbers) : Float32Array.from(numbers);
}

/** Records runs on the compiled kernels of `machine`; `compiled` are the names of those. */
export class WasmRecorder implements Recorder {
  constructor(
    readonly backend: WasmBackend,
    private readonly machine: Machine,
    private readonly compiled: ReadonlySet<string>,
  ) {}

  record(feed: NamedTensorMap, run: GraphRunner) {
    const recorded = new RecordedRun(this.machine, this.compiled, this.backend as RecordableBackend);
    try {
      return recorded.run(feed, run);
    } catch {
      // A fault of the graph comes again, from here.
      recorded.tensors.dispose();
      return { outputs: run(feed), recording: null };
    }
  }
}
