/** Examples that are files by class: their stored values are kept in memory up to a limit. */

import type { Examples } from "../../core/data/examples";
import type { Values } from "../../core/data/shard";
import { collect } from "../../core/preprocessing/columns";
import type { StoredSpec } from "../../core/preprocessing/declaration";
import type { LabelledFile } from "./folders";

/** The most bytes of values in memory; further files are read again when a step takes them. */
const KEPT_BYTES = 192 * 2 ** 20;

interface StoredShapes {
  readonly inputs: readonly StoredSpec[];
  readonly labels: readonly StoredSpec[];
}

/** Keeps the stored values of the first files; `read` returns those of one. */
export class KeptExamples<V extends Values> {
  readonly #values = new Map<number, V>();
  readonly files: LabelledFile[] = [];
  #bytes = 0;

  constructor(
    private readonly shapes: StoredShapes,
    private readonly read: (file: File) => Promise<V>,
  ) {}

  /** Adds a file if it can be read. */
  async add(one: LabelledFile): Promise<void> {
    const values = await this.read(one.file);
    this.files.push(one);
    if (this.#bytes + values.byteLength > KEPT_BYTES) return;
    this.#values.set(this.files.length - 1, values);
    this.#bytes += values.byteLength;
  }

  /** Returns the stored values of file `number`. */
  async values(number: number): Promise<V> {
    return this.#values.get(number) ?? this.read((this.files[number] as LabelledFile).file);
  }

  async take(numbers: Uint32Array): Promise<Examples> {
    const examples = await Promise.all(
      Array.from(numbers, async (number) => ({
        x: [await this.values(number)],
        y: [(this.files[number] as LabelledFile).values],
      })),
    );
    return collect(examples, this.shapes.inputs, this.shapes.labels);
  }
}
