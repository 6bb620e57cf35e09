/**
 * Partitions data that every client has in full, and parses the server's names of the parts.
 * backend/numerics/partition.py is the Python twin; tests/contract/vectors/dealing.json tests both.
 */

import type { RowPart } from "../messages/local-data";
import { later, UserError } from "../user-messages";
import { permutation } from "./batches";

const KEY = 48;
const NAME = /^([0-9a-f]{48})([01])([0-9a-f]{15})$/;

/** How examples that all clients have are partitioned. */
export interface PartitionedData {
  /** Identifies their files. */
  readonly key: string;
  /** The largest number of examples of a part. */
  readonly most: number;
}

/** Returns 48 hexadecimal digits that identify files with these SHA-256, in this order. */
export async function dataKey(hashes: readonly string[]): Promise<string> {
  return (await sha256(new TextEncoder().encode(hashes.join("\n")))).slice(0, KEY);
}

export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the part called `name`. Throws an error for people if it is no part of the data of `key`. */
export function parsePart(key: string, name: string): { readonly part: RowPart; readonly number: number } {
  const match = NAME.exec(name);
  if (match === null || match[1] !== key) {
    throw new UserError(
      later("%(part)s is no part of these data. Reload the page: the task may have others by now.", {
        part: name.slice(0, 12),
      }),
    );
  }
  return { part: match[2] === "0" ? "train" : "holdout", number: Number.parseInt(match[3] as string, 16) };
}

/** Returns the examples of part `number`; `order` is the order of all examples. */
export function partRows(order: Uint32Array, most: number, number: number): Uint32Array {
  const n = order.length;
  const parts = Math.ceil(n / most);
  if (number >= parts) {
    const values = { part: number, examples: n, parts };
    throw new UserError(
      later("There is no part %(part)s of %(examples)s examples; there are %(parts)s.", values),
    );
  }
  return order.subarray(Math.floor((number * n) / parts), Math.floor(((number + 1) * n) / parts));
}

/**
 * Returns the order in which parts are cut from `n` examples. It is random, because files are often sorted by class.
 */
export function partitionOrder(n: number): Uint32Array {
  return permutation(0, 1, n);
}
