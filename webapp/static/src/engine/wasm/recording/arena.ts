/** The memory of a recording: blocks of the heap that are used again within a run, and freed with the recording. */

/** The allocator of TF.js' module. */
export interface HeapAllocator {
  _malloc(bytes: number): number;
  _free(address: number): void;
}

const ALIGNMENT = 16;
/** A block is used for what needs at least this part of it. */
const LEAST_USE = 0.5;

export class Arena {
  readonly #sizes = new Map<number, number>();
  #free: number[] = [];
  #bytes = 0;

  constructor(
    private readonly heap: HeapAllocator,
    private readonly mostBytes: number,
  ) {}

  /** Returns the address of a block that nothing uses now; throws an Error beyond `mostBytes`. */
  take(bytes: number): number {
    const fitting = this.#free.filter((address) => {
      const size = this.#size(address);
      return size >= bytes && bytes >= LEAST_USE * size;
    });
    if (fitting.length > 0) {
      const best = fitting.reduce((one, other) => (this.#size(other) < this.#size(one) ? other : one));
      this.#free = this.#free.filter((address) => address !== best);
      return best;
    }
    return this.keep(bytes);
  }

  /**
   * Returns the address of a block that nothing else uses in the whole run. What was in one that was given back is
   * written there again by a repetition.
   */
  keep(bytes: number): number {
    const size = Math.max(Math.ceil(bytes / ALIGNMENT), 1) * ALIGNMENT;
    if (this.#bytes + size > this.mostBytes) throw new Error("A recording takes too much memory.");
    const address = this.heap._malloc(size) >>> 0;
    this.#sizes.set(address, size);
    this.#bytes += size;
    return address;
  }

  /** Gives a block back, for later ones of the same run. */
  give(address: number): void {
    this.#free.push(address);
  }

  /** Frees all blocks. */
  dispose(): void {
    for (const address of this.#sizes.keys()) this.heap._free(address);
    this.#sizes.clear();
    this.#free = [];
    this.#bytes = 0;
  }

  #size(address: number): number {
    return this.#sizes.get(address) ?? 0;
  }
}
