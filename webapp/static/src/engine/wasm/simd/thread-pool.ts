/**
 * Threads that share one kernel's work with the training worker. A job is in shared memory; every active thread takes
 * the next piece of it. The training worker never waits for a helper that has not begun: on a busy device it does all
 * the work.
 */

/** Offsets of a job's fields in its control block, in 32-bit words. */
const OPEN = 0;
const ACTIVE = 1;
const NEXT = 2;
const CALLS = 3;
const FAILED = 4;
const KERNEL = 5;
const PARTS = 6;
const PIECE = 7;
const COUNT = 8;
const SCRATCH = 9;
const SCRATCH_BYTES = 10;
/** Arguments follow as 64-bit floats, which hold addresses and float32 alike. */
const VALUES = 16;
const MAX_VALUES = 24;

/** Bytes of a control block. */
export const CONTROL_BYTES = VALUES * 4 + MAX_VALUES * 8;

/** The compiled kernels; all of their arguments are numbers, addresses among them. */
export type Kernels = Readonly<Record<string, (...values: number[]) => void>>;

/** What a helper needs to start. */
export interface Enlistment {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  readonly control: number;
  readonly index: number;
}

export interface ThreadJob {
  readonly kernel: string;
  /** The kernel's work is [0, parts). */
  readonly parts: number;
  readonly values: readonly number[];
  /** Each thread's own scratch memory, one after the other; 0 bytes for none. */
  readonly scratch: number;
  readonly scratchBytes: number;
}

/** Pieces per thread: small enough that a late helper still gets some. */
const PIECES = 2;
/** Tiles of the products have up to six rows: pieces of whole tiles waste nothing. */
const ROUND = 12;

function pieceOf(parts: number, threads: number): number {
  const piece = Math.ceil(parts / (threads * PIECES));
  return piece > ROUND ? Math.ceil(piece / ROUND) * ROUND : piece;
}

/** One thread's view of the job; the training worker has index 0. */
export class ThreadPool {
  private readonly words: Int32Array;
  private readonly values: Float64Array;
  private readonly names: readonly string[];

  constructor(
    private readonly kernels: Kernels,
    memory: WebAssembly.Memory,
    control: number,
    private readonly index: number,
  ) {
    this.words = new Int32Array(memory.buffer, control, VALUES);
    this.values = new Float64Array(memory.buffer, control + VALUES * 4, MAX_VALUES);
    this.names = Object.keys(kernels).sort();
  }

  /** Does a job with all of `threads`. */
  perform({ kernel, parts, values, scratch, scratchBytes }: ThreadJob, threads: number): void {
    const { words } = this;
    words[KERNEL] = this.names.indexOf(kernel);
    words[PARTS] = parts;
    words[PIECE] = pieceOf(parts, threads);
    words[COUNT] = values.length;
    words[SCRATCH] = scratch;
    words[SCRATCH_BYTES] = scratchBytes;
    this.values.set(values);
    Atomics.store(words, NEXT, 0);
    Atomics.store(words, OPEN, 1);
    Atomics.add(words, CALLS, 1);
    Atomics.notify(words, CALLS);
    try {
      this.takePieces();
    } finally {
      // No thread may begin from here on; those that have begun are awaited.
      Atomics.store(words, OPEN, 0);
      for (let active = Atomics.load(words, ACTIVE); active > 0; active = Atomics.load(words, ACTIVE)) {
        Atomics.wait(words, ACTIVE, active);
      }
    }
    if (Atomics.exchange(words, FAILED, 0) !== 0) throw new Error(`A thread failed in the kernel ${kernel}.`);
  }

  /** Runs a helper until the worker ends. */
  serve(): never {
    const { words } = this;
    for (;;) {
      const calls = Atomics.load(words, CALLS);
      Atomics.add(words, ACTIVE, 1);
      try {
        if (Atomics.load(words, OPEN) === 1) this.takePieces();
      } catch {
        Atomics.store(words, FAILED, 1);
      }
      Atomics.sub(words, ACTIVE, 1);
      Atomics.notify(words, ACTIVE);
      Atomics.wait(words, CALLS, calls);
    }
  }

  private takePieces(): void {
    const { words } = this;
    const name = this.names[words[KERNEL] as number] as string;
    const kernel = this.kernels[name] as (...values: number[]) => void;
    const [parts, piece] = [words[PARTS] as number, words[PIECE] as number];
    const given = Array.from(this.values.subarray(0, words[COUNT]));
    const bytes = words[SCRATCH_BYTES] as number;
    if (bytes > 0) given.push((words[SCRATCH] as number) + this.index * bytes);
    for (;;) {
      const begin = Atomics.add(words, NEXT, 1) * piece;
      if (begin >= parts) return;
      kernel(...given, begin, Math.min(begin + piece, parts));
    }
  }
}
