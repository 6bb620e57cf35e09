/** Runs the compiled kernels (../../kernels) in the memory of TF.js' WASM module. */

import alone from "minga:kernels/alone?url";
import aloneRelaxed from "minga:kernels/alone-relaxed?url";
import shared from "minga:kernels/shared?url";
import sharedRelaxed from "minga:kernels/shared-relaxed?url";
import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { WasmBackend } from "../heap";
import { CONTROL_BYTES, type Enlistment, type Kernels, ThreadPool } from "./thread-pool";

/**
 * The parts of TF.js' module that are needed. A module with threads exposes its memory, one without only its exports.
 */
interface TfjsModule {
  _malloc(bytes: number): number;
  _free(address: number): void;
  readonly wasmMemory?: WebAssembly.Memory;
  readonly asm: { readonly memory?: WebAssembly.Memory };
}

interface Storage {
  readonly wasm: TfjsModule;
  readonly dataIdMap: { get(id: object): { readonly memoryOffset: number } };
}

/** `f32x4.relaxed_madd` in a function of its own: engines that do not know it refuse the module. */
const RELAXED_PROBE = Uint8Array.of(
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0],
  ...[65, 0, 253, 15, 65, 0, 253, 15, 65, 0, 253, 15, 253, 133, 2, 11],
);

/** How kernels share their work. */
export interface Sharing {
  /** Threads, the calling one included. */
  readonly threads: number;
  /** Steps of an innermost loop from which waking the other threads pays off. */
  readonly worthSharing: number;
}

/** Starts a helper; a browser that refuses another thread runs with fewer. */
function enlist(enlistment: Enlistment): Promise<Worker> {
  const worker = new Worker(new URL("./thread.ts", import.meta.url), { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onmessage = () => resolve(worker);
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage(enlistment);
  });
}

/**
 * `fastest` takes relaxed instructions where the engine has them, which round as the processor likes; `exact` gives the
 * same bits everywhere.
 */
export type KernelChoice = "fastest" | "exact";

async function compile(threads: boolean, choice: KernelChoice): Promise<WebAssembly.Module> {
  const relaxed = choice === "fastest" && WebAssembly.validate(RELAXED_PROBE);
  const address = threads ? (relaxed ? sharedRelaxed : shared) : relaxed ? aloneRelaxed : alone;
  return WebAssembly.compile(await (await fetch(address)).arrayBuffer());
}

/** What records a run of a graph. */
export interface MachineLog {
  /** Returns memory that lasts as long as the recording. */
  block(bytes: number): number;
  /** Takes what a repetition of the run does at this place. */
  ran(action: () => void): void;
  /** A kernel that is not compiled takes part in this call. */
  passedOn(): void;
}

/** Owns the kernels' instance, its scratch memory and its threads, which live as long as the backend. */
export class Machine {
  private log: MachineLog | null = null;
  private helpers: Worker[] = [];
  private scratchAddress = 0;
  private scratchBytes = 0;
  private integersAddress = 0;
  private integersCount = 0;
  /** Of a recording, reserved for the next integers. */
  private recordedBlock: number | null = null;
  private readonly threadPool: ThreadPool | null;

  private constructor(
    private readonly kernels: Kernels,
    private readonly tfjs: TfjsModule,
    private readonly memory: WebAssembly.Memory,
    private readonly control: number,
    /** Each of the requested threads has scratch memory of its own. */
    private readonly sharing: Sharing,
  ) {
    this.threadPool = control === 0 ? null : new ThreadPool(kernels, memory, control, 0);
  }

  /** Without shared memory there is one thread. */
  static async start(backend: WasmBackend, sharing: Sharing, choice: KernelChoice): Promise<Machine> {
    const tfjs = (backend as unknown as Storage).wasm;
    const memory = tfjs.wasmMemory ?? tfjs.asm.memory;
    if (memory === undefined) throw new Error("TF.js keeps its WASM memory in a new place: adapt Machine.");
    const common = typeof SharedArrayBuffer !== "undefined" && memory.buffer instanceof SharedArrayBuffer;
    const threads = common ? sharing.threads : 1;
    const module = await compile(common, choice);
    const { exports } = await WebAssembly.instantiate(module, { env: { memory } });
    const control = threads > 1 ? tfjs._malloc(CONTROL_BYTES) >>> 0 : 0;
    if (control !== 0) new Uint8Array(memory.buffer, control, CONTROL_BYTES).fill(0);
    const machine = new Machine(exports as Kernels, tfjs, memory, control, { ...sharing, threads });
    if (control !== 0) await machine.enlist(module, threads - 1);
    return machine;
  }

  private async enlist(module: WebAssembly.Module, count: number): Promise<void> {
    const { memory, control } = this;
    const indices = Array.from({ length: count }, (_, i) => i + 1);
    const enlisted = indices.map((index) => enlist({ module, memory, control, index }));
    for (const result of await Promise.allSettled(enlisted)) {
      if (result.status === "fulfilled") this.helpers.push(result.value);
    }
  }

  /** Reports to `log` from now on; null ends that. */
  report(log: MachineLog | null): void {
    this.log = log;
    this.recordedBlock = null;
  }

  /** Tells that a kernel which is not compiled takes part in a call. */
  passedOn(): void {
    this.log?.passedOn();
  }

  /** Returns the address of a tensor. */
  static address(backend: WasmBackend, tensor: TensorInfo): number {
    return (backend as unknown as Storage).dataIdMap.get(tensor.dataId).memoryOffset;
  }

  /**
   * Runs a kernel over all of its `parts`. `work` is the number of steps of its innermost loop; a kernel that asks
   * for scratch memory gets it before the range.
   */
  run(name: string, parts: number, work: number, values: readonly number[], scratchBytes = 0): void {
    if (parts === 0) return;
    this.log?.ran(() => this.perform(name, parts, work, values, scratchBytes));
    this.perform(name, parts, work, values, scratchBytes);
  }

  private perform(
    name: string,
    parts: number,
    work: number,
    values: readonly number[],
    scratchBytes: number,
  ): void {
    const threads = this.helpers.length + 1;
    const bytes = Math.ceil(scratchBytes / 16) * 16;
    const scratch = bytes > 0 ? this.scratch(bytes * this.sharing.threads) : 0;
    if (this.threadPool !== null && threads > 1 && parts > 1 && work >= this.sharing.worthSharing) {
      this.threadPool.perform({ kernel: name, parts, values, scratch, scratchBytes: bytes }, threads);
      return;
    }
    const kernel = this.kernels[name];
    if (kernel === undefined) throw new Error(`There is no compiled kernel ${name}.`);
    if (bytes > 0) kernel(...values, scratch, 0, parts);
    else kernel(...values, 0, parts);
  }

  /** Returns where the next `integers` will be, if they are `count`. */
  reserve(count: number): number {
    if (this.log !== null) {
      this.recordedBlock ??= this.log.block(4 * count);
      return this.recordedBlock;
    }
    if (count > this.integersCount) {
      this.tfjs._free(this.integersAddress);
      this.integersAddress = this.tfjs._malloc(4 * count) >>> 0;
      this.integersCount = count;
    }
    return this.integersAddress;
  }

  /** Copies integers to where kernels can read them; valid until the next call. */
  integers(values: ArrayLike<number>): number {
    const address = this.reserve(values.length);
    new Int32Array(this.memory.buffer, address, values.length).set(values);
    this.recordedBlock = null;
    return address;
  }

  /** Tells a recording that a repetition has other numbers at `address`, in float32. */
  rewrites(address: number, numbers: () => readonly number[]): void {
    this.log?.ran(() => {
      const values = numbers();
      new Float32Array(this.memory.buffer, address, values.length).set(values);
    });
  }

  /** Ends the helpers; the memory is freed with the backend. */
  dispose(): void {
    for (const helper of this.helpers) helper.terminate();
    this.helpers = [];
  }

  private scratch(bytes: number): number {
    if (bytes > this.scratchBytes) {
      this.tfjs._free(this.scratchAddress);
      this.scratchAddress = this.tfjs._malloc(bytes) >>> 0;
      this.scratchBytes = bytes;
    }
    return this.scratchAddress;
  }
}
