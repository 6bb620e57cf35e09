/**
 * Parts of data that every client has as a whole, and how the server calls them. backend/numerics/partition.py is the
 * Python twin; both are held to tests/contract/vectors/dealing.json.
 */

import type { RowPart } from "../messages/local-data";
import { permutation } from "./batches";

const KEY = 48;
const NAME = /^([0-9a-f]{48})([01])([0-9a-f]{15})$/;

/** How examples that all clients have are dealt out. */
export interface PartitionedData {
  /** Stands for their files. */
  readonly key: string;
  /** Examples of a part at most. */
  readonly most: number;
}

/** 48 hexadecimal digits that stand for files of these SHA-256, in this order. */
export async function dataKey(hashes: readonly string[]): Promise<string> {
  return (await sha256(new TextEncoder().encode(hashes.join("\n")))).slice(0, KEY);
}

export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Which part `name` is. Throws an error for people where it is none of the data of `key`. */
export function parsePart(key: string, name: string): { readonly part: RowPart; readonly number: number } {
  const match = NAME.exec(name);
  if (match === null || match[1] !== key) {
    throw new Error(
      `${name.slice(0, 12)} is no part of these data. Reload the page: the task may have others by now.`,
    );
  }
  return { part: match[2] === "0" ? "train" : "holdout", number: Number.parseInt(match[3] as string, 16) };
}

/** The examples of part `number`, of `n` that are numbered from 0 in their order. `order` is that of all of them. */
export function partRows(order: Uint32Array, most: number, number: number): Uint32Array {
  const n = order.length;
  const parts = Math.ceil(n / most);
  if (number >= parts) throw new Error(`There is no part ${number} of ${n} examples; there are ${parts}.`);
  return order.subarray(Math.floor((number * n) / parts), Math.floor(((number + 1) * n) / parts));
}

/** The order in which parts are taken from `n` examples: files lie in order of their classes more often than not. */
export function dealingOrder(n: number): Uint32Array {
  return permutation(0, 1, n);
}
